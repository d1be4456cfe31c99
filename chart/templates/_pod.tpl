{{/*
Entries of the chart, and entries of a value, which must not override them. Takes {own, extra, key, value}: YAML, a list,
the key that identifies an entry, and the name of the value.
*/}}
{{- define "stoker-operator.entries" -}}
{{- $own := fromYamlArray .own -}}
{{- $taken := list -}}
{{- range $own -}}
{{- $taken = append $taken (get . $.key) -}}
{{- end -}}
{{- range .extra -}}
{{- if has (get . $.key) $taken -}}
{{- fail (printf "%s must not set %s, which the chart sets; remove the entry" $.value (get . $.key)) -}}
{{- end -}}
{{- end -}}
{{- with concat $own (default list .extra) -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{/* Variables of the logger. */}}
{{- define "stoker-operator.logEnv" -}}
- name: LOG_LEVEL
  value: {{ .Values.controller.logLevel | quote }}
- name: LOG_DEV_MODE
  value: {{ .Values.controller.logDevMode | quote }}
{{- end -}}

{{/* Metadata of a component's pods. Takes {context, component, values}. */}}
{{- define "stoker-operator.podMetadata" -}}
labels:
  {{- include "stoker-operator.labels" (merge (dict "labels" .values.podLabels) .) | nindent 2 }}
annotations:
  {{- merge (dict "kubectl.kubernetes.io/default-container" .component) (default (dict) .values.podAnnotations) | toYaml | nindent 2 }}
{{- end -}}

{{/*
Fields of a component's container, except its name and ports. Takes {context, values, env, mounts}: the chart's
environment and mounts as YAML.
*/}}
{{- define "stoker-operator.container" -}}
image: {{ include "stoker-operator.image" (dict "context" .context "image" .values.image) }}
imagePullPolicy: {{ .values.image.pullPolicy }}
securityContext:
  {{- toYaml .values.securityContext | nindent 2 }}
env:
  {{- include "stoker-operator.entries" (dict "own" .env "extra" .values.extraEnv "key" "name" "value" "extraEnv") | nindent 2 }}
{{- include "stoker-operator.probes" . }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
{{- with include "stoker-operator.entries" (dict "own" .mounts "extra" .values.extraVolumeMounts "key" "mountPath" "value" "extraVolumeMounts") }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Probes of the health port, which all programs serve over plain HTTP, even if they use TLS otherwise. */}}
{{- define "stoker-operator.probes" }}
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
  # A pod is ready one second after it can serve requests, and unready after failing for 15 s.
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 15
{{- end -}}

{{/*
Fields of a component's pods, except their containers. Takes {context, component, values, serviceAccount, volumes}: the
chart's volumes as YAML.
*/}}
{{- define "stoker-operator.podSpec" -}}
serviceAccountName: {{ .serviceAccount | quote }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .context.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .values.podSecurityContext | nindent 2 }}
{{- $hostNetwork := default false .values.hostNetwork }}
{{- if $hostNetwork }}
hostNetwork: true
{{- end }}
{{- /* By default, a pod on the host's network can't resolve Services. */}}
{{- with default (ternary "ClusterFirstWithHostNet" "" $hostNetwork) .values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "stoker-operator.entries" (dict "own" .volumes "extra" .values.extraVolumes "key" "name" "value" "extraVolumes") }}
volumes:
  {{- . | nindent 2 }}
{{- end }}
{{- include "stoker-operator.scheduling" . | trimSuffix "\n" }}
{{- end -}}

{{/*
Scheduling of a component's pods. Takes {context, component, values}. A topology spread constraint without a label selector
applies to the pods of the component.
*/}}
{{- define "stoker-operator.scheduling" }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
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

{{/* Keeps pods of a component available while nodes are drained. Takes {context, component, name, values}. */}}
{{- define "stoker-operator.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "stoker-operator.metadata" . | nindent 2 }}
spec:
  {{- if include "stoker-operator.isLeftOut" .values.minAvailable }}
  maxUnavailable: {{ .values.maxUnavailable }}
  {{- else }}
  minAvailable: {{ .values.minAvailable }}
  {{- end }}
  # An unready pod must not block the drain of its node.
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
  {{- include "stoker-operator.metadata" (merge (dict "annotations" .values.annotations) .) | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}
