{{/*
Metadata of an object of the Prometheus operator, which may be in another namespace than the rest. Takes {context,
component, name, values}.
*/}}
{{- define "stoker-operator.monitorMetadata" -}}
{{- include "stoker-operator.metadata" (merge (dict "namespace" .values.namespace "labels" .values.labels) .) -}}
{{- end -}}

{{/* The only endpoint of a monitor: what the chart says of it, as YAML, and what the values of the monitor add. Takes {own, values}. */}}
{{- define "stoker-operator.endpoint" -}}
{{- $endpoint := fromYaml .own -}}
{{- range $key := list "interval" "scrapeTimeout" "metricRelabelings" -}}
{{- with get $.values $key -}}
{{- $_ := set $endpoint $key . -}}
{{- end -}}
{{- end -}}
{{- with concat (default list $endpoint.relabelings) (default list .values.relabelings) -}}
{{- $_ := set $endpoint "relabelings" . -}}
{{- end -}}
{{- list $endpoint | toYaml -}}
{{- end -}}

{{/* A ServiceMonitor for the metrics Service of a component. Takes {context, component, name, values, endpoint}: `endpoint` as YAML. */}}
{{- define "stoker-operator.serviceMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  {{- include "stoker-operator.monitorMetadata" . | nindent 2 }}
spec:
  namespaceSelector:
    matchNames:
      - {{ include "stoker-operator.namespace" .context | quote }}
  selector:
    matchLabels:
      {{- include "stoker-operator.selectorLabels" . | nindent 6 }}
      sync.io/service: metrics
  endpoints:
    {{- include "stoker-operator.endpoint" (dict "own" .endpoint "values" .values) | nindent 4 }}
{{- end -}}

{{/* Name of the Secret with the token by which Prometheus reads the metrics of the controller; empty where it uses its own token. */}}
{{- define "stoker-operator.metricsTokenName" -}}
{{- with .Values.serviceMonitor.tokenSecret -}}
{{- if .create -}}
{{- default (printf "%s-reader" (include "stoker-operator.metricsName" $)) .name -}}
{{- else -}}
{{- default "" .name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* How Prometheus reads the metrics of the controller. */}}
{{- define "stoker-operator.controllerEndpoint" -}}
port: metrics
scheme: https
{{- with include "stoker-operator.metricsTokenName" . }}
authorization:
  credentials:
    name: {{ . | quote }}
    key: {{ $.Values.serviceMonitor.tokenSecret.key | quote }}
{{- else }}
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
{{- end }}
tlsConfig:
  # The endpoint makes its own certificate; callers are told apart by their token.
  insecureSkipVerify: true
# A metric of a GatewaySync keeps that namespace: it would become exported_namespace.
honorLabels: true
{{- end -}}

{{/* How Prometheus reads the metrics of agents. The label `name`, next to that of the namespace, says to which GatewaySync they belong, as the controller's do. */}}
{{- define "stoker-operator.agentEndpoint" -}}
port: sync-metrics
relabelings:
  - sourceLabels: [__meta_kubernetes_pod_annotation_sync_io_cr_name]
    targetLabel: name
{{- end -}}
