{{/*
The alerts on the installed components, without the disabled ones, each with the address of its runbook. Fails if a value
names an alert that doesn't exist.
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
{{- fail (printf "prometheusRule.disabled contains %s, which isn't an alert of the chart; the alerts are %s" $name (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- $seen := .Values.metrics.enabled -}}
{{- $runbooks := tpl $values.runbookBaseUrl . -}}
{{- $installed := concat (ternary $controller list $seen) (ternary $receiver list (and $seen .Values.webhookReceiver.enabled)) $agents -}}
{{- $rules := list -}}
{{- range $installed -}}
{{- if not (get (default (dict) $values.disabled) .alert) -}}
{{- if $runbooks -}}
{{- $_ := set .annotations "runbook_url" (printf "%s#%s" $runbooks (lower .alert)) -}}
{{- end -}}
{{- $rules = append $rules . -}}
{{- end -}}
{{- end -}}
{{- concat $rules (default list $values.additionalRules) | toYaml -}}
{{- end -}}

{{/*
Uses kube-state-metrics to check if a program runs, because there may be other reasons why Prometheus has no metrics of it.
Takes {context, program, deployment, cost}; cost describes the impact of its absence.
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

{{/* Takes {context, program, metric}; the program always exports the metric. */}}
{{- define "stoker-operator.unseenAlert" -}}
- alert: Sync{{ .program }}IsNotScraped
  expr: absent({{ .metric }}{namespace={{ include "stoker-operator.namespace" .context | quote }}})
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: Prometheus scrapes no {{ lower .program }} of the sync operator.
    description: It is down, or Prometheus doesn't find it or can't reach it. Until this is fixed, its other alerts can't fire.
{{- end -}}

{{/* Seconds before the expiry of the webhook's certificate at which its renewal is overdue: half of the time that is left at the planned renewal, at most a week, and at least a minute. */}}
{{- define "stoker-operator.lateRenewal" -}}
{{- $life := 7776000 -}}
{{- $renewal := 0 -}}
{{- if .Values.certManager.enabled -}}
{{- $life = include "stoker-operator.seconds" .Values.certManager.duration | int64 | default $life -}}
{{- $renewal = include "stoker-operator.seconds" .Values.certManager.renewBefore | int64 -}}
{{- end -}}
{{- max 60 (min 604800 (div (default (div $life 3) $renewal) 2)) -}}
{{- end -}}
