{{/* How often a monitor scrapes, and for how long, where that is set. Takes the values of the monitor. */}}
{{- define "stoker-operator.scrapeTimes" -}}
{{- $times := dict }}
{{- range $key := list "interval" "scrapeTimeout" }}
{{- with index $ $key }}{{ $_ := set $times $key . }}{{ end }}
{{- end }}
{{- with $times }}{{ toYaml . }}{{ end }}
{{- end -}}
