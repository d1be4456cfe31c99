{{/*
The alerts on what is installed, without those that are turned off, each with the address of its runbook. Fails where a
value names an alert that there is not.
*/}}
{{- define "stoker-operator.alerts" -}}
{{- $values := .Values.prometheusRule -}}
{{- $controller := include "stoker-operator.controllerAlerts" . | fromYamlArray -}}
{{- $receiver := include "stoker-operator.receiverAlerts" . | fromYamlArray -}}
{{- $agents := include "stoker-operator.agentAlerts" . | fromYamlArray -}}
{{- $names := list -}}
{{- range concat $controller $receiver $agents -}}
{{- $names = append $names .alert -}}
{{- end -}}
{{- range $name, $_ := $values.disabled -}}
{{- if not (has $name $names) -}}
{{- fail (printf "prometheusRule.disabled names %s, which is no alert of the chart: they are %s" $name (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- $seen := .Values.metrics.enabled -}}
{{- $installed := concat (ternary $controller list $seen) (ternary $receiver list (and $seen .Values.webhookReceiver.enabled)) $agents -}}
{{- $rules := list -}}
{{- range $installed -}}
{{- if not (get (default (dict) $values.disabled) .alert) -}}
{{- if $values.runbookBaseUrl -}}
{{- $_ := set .annotations "runbook_url" (printf "%s#%s" $values.runbookBaseUrl (lower .alert)) -}}
{{- end -}}
{{- $rules = append $rules . -}}
{{- end -}}
{{- end -}}
{{- concat $rules (default list $values.additionalRules) | toYaml -}}
{{- end -}}

{{/*
Whether a program runs is for kube-state-metrics to say: that Prometheus sees no metrics of it may have other reasons.
Takes {context, program, deployment, cost}: what its absence means for people.
*/}}
{{- define "stoker-operator.downAlert" -}}
{{- $of := printf "{namespace=%q, deployment=%q}" (include "stoker-operator.namespace" .context) .deployment -}}
- alert: Sync{{ .program }}IsDown
  expr: |-
    max by (namespace, deployment) (kube_deployment_status_replicas_available{{ $of }}) == 0
      and on (namespace, deployment) kube_deployment_spec_replicas{{ $of }} > 0
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No {{ lower .program }} of the sync operator is ready.
    description: {{ .cost | quote }}
{{- end -}}

{{/* Takes {context, program, metric}: one that the program always has. */}}
{{- define "stoker-operator.unseenAlert" -}}
- alert: Sync{{ .program }}IsNotScraped
  expr: absent({{ .metric }}{namespace={{ include "stoker-operator.namespace" .context | quote }}})
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: Prometheus sees no {{ lower .program }} of the sync operator.
    description: It is down, or Prometheus does not find it or may not reach it. Until then its other alerts cannot fire.
{{- end -}}

{{/* So many seconds before its end the certificate of the webhook should have been renewed long ago: half of the time that is left at its renewal, a week at most and a minute at least. */}}
{{- define "stoker-operator.lateRenewal" -}}
{{- $life := 7776000 -}}
{{- $renewal := 0 -}}
{{- if .Values.certManager.enabled -}}
{{- $life = include "stoker-operator.seconds" .Values.certManager.duration | int64 | default $life -}}
{{- $renewal = include "stoker-operator.seconds" .Values.certManager.renewBefore | int64 -}}
{{- end -}}
{{- max 60 (min 604800 (div (default (div $life 3) $renewal) 2)) -}}
{{- end -}}
