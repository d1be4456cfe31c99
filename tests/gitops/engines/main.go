// Runs what other GitOps tools run on their side: JSON on standard input, JSON on standard output.
//
//	engines health     {"script": LUA, "object": {}}                    -> {"status": "", "message": ""}
//	engines trigger    {"conditions": [], "application": {}}            -> [{"Triggered": true, "OncePer": ""}]
//	engines kstatus    {object}                                        -> {"status": "", "message": ""}
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/triggers"
	"github.com/sirupsen/logrus"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// health runs a health check of Argo CD as Argo CD does: base, package and table are all that a script can use.
func health() (any, error) {
	var input struct {
		Script string
		Object map[string]any
	}
	if err := read(&input); err != nil {
		return nil, err
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", toLua(state, input.Object))
	if err := state.DoString(input.Script); err != nil {
		return nil, err
	}
	result, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return nil, fmt.Errorf("the script returned no table")
	}
	return verdict{result.RawGetString("status").String(), result.RawGetString("message").String()}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.NewTable()
		for _, each := range value {
			table.Append(toLua(state, each))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, each := range value {
			table.RawSetString(key, toLua(state, each))
		}
		return table
	}
	return lua.LNil
}

func trigger() (any, error) {
	var input struct {
		Conditions  []triggers.Condition
		Application map[string]any
	}
	if err := read(&input); err != nil {
		return nil, err
	}
	service, err := triggers.NewService(map[string][]triggers.Condition{"gateways": input.Conditions})
	if err != nil {
		return nil, err
	}
	// The engine logs a condition that it can't evaluate, and goes on as if it were false.
	var problems strings.Builder
	logrus.SetOutput(&problems)
	results, err := service.Run("gateways", map[string]any{"app": input.Application})
	if problems.Len() > 0 {
		return nil, errors.New(problems.String())
	}
	return results, err
}

func kstatus() (any, error) {
	var object unstructured.Unstructured
	if err := read(&object); err != nil {
		return nil, err
	}
	result, err := status.Compute(&object)
	if err != nil {
		return nil, err
	}
	return verdict{result.Status.String(), result.Message}, nil
}

func read(value any) error { return json.NewDecoder(os.Stdin).Decode(value) }

func main() {
	commands := map[string]func() (any, error){"health": health, "kstatus": kstatus, "trigger": trigger}
	result, err := commands[os.Args[1]]()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
