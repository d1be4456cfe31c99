{{/* Labels of a pod: those of the values, and over them those by which it is found. Takes {context, component, labels}. */}}
{{- define "stoker-operator.podLabels" -}}
{{- $own := include "stoker-operator.labels" . | fromYaml -}}
{{- merge $own (deepCopy .labels) | toYaml -}}
{{- end -}}

{{/* Environment of a container. Takes {own, extra}: the chart's variables as YAML, and further ones, which may not repeat them. */}}
{{- define "stoker-operator.env" -}}
{{- $names := list -}}
{{- range fromYamlArray .own -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- range .extra -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv must not set %s: the chart sets it" .name) -}}
{{- end -}}
{{- end -}}
{{ .own }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Variables of the logger. */}}
{{- define "stoker-operator.logEnv" -}}
- name: LOG_LEVEL
  value: {{ .Values.controller.logLevel | quote }}
- name: LOG_DEV_MODE
  value: {{ .Values.controller.logDevMode | quote }}
{{- end -}}

{{/* Probes on the health port that all programs have; it speaks plain http also where the program itself does not. */}}
{{- define "stoker-operator.probes" -}}
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{/*
Where the pods of a component may run, from values that have the same names for each. Takes {context, component, values}.
A spread that says nothing of the pods that it counts counts those of the component.
*/}}
{{- define "stoker-operator.scheduling" -}}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $own := dict "labelSelector" (dict "matchLabels" (include "stoker-operator.selectorLabels" . | fromYaml)) }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml (ternary . (merge (deepCopy $own) .) (hasKey . "labelSelector")) | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Keeps pods of a component while nodes are drained. Takes {context, component, name, values}. */}}
{{- define "stoker-operator.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .context.Release.Namespace }}
  labels:
    {{- include "stoker-operator.labels" . | nindent 4 }}
spec:
  {{- if eq (toString .values.minAvailable) "" }}
  maxUnavailable: {{ .values.maxUnavailable }}
  {{- else }}
  minAvailable: {{ .values.minAvailable }}
  {{- end }}
  # A pod that is not ready anyway keeps no node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "stoker-operator.selectorLabels" . | nindent 6 }}
{{- end -}}

{{/* Service account of a component. Takes {context, component, name, values}. */}}
{{- define "stoker-operator.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .context.Release.Namespace }}
  labels:
    {{- include "stoker-operator.labels" . | nindent 4 }}
  {{- with .values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}
