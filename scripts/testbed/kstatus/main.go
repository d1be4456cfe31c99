// Prints what kstatus, the library with which Flux waits for objects, makes of the object on stdin.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(text); err != nil {
		log.Fatal(err)
	}
	result, err := status.Compute(&object)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status)
}
