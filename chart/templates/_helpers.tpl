{{/* Name of the chart in resource names, at most 63 characters as labels allow. */}}
{{- define "stoker-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of resource names; 46 characters leave room for the longest suffix. */}}
{{- define "stoker-operator.fullname" -}}
{{- $name := include "stoker-operator.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels by which a selector finds a component. Takes {context, component}. */}}
{{- define "stoker-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "stoker-operator.name" .context }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Labels of every object. Takes {context, component}. */}}
{{- define "stoker-operator.labels" -}}
{{ include "stoker-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Reference of an image. Takes {context, image}. */}}
{{- define "stoker-operator.image" -}}
{{- printf "%s:%s" .image.repository (default .context.Chart.AppVersion .image.tag) -}}
{{- end -}}

{{/* Security context of a pod, as the restricted Pod Security Standard asks; the images name a user that is not root. */}}
{{- define "stoker-operator.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "stoker-operator.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Variables of the logger. */}}
{{- define "stoker-operator.logEnv" -}}
- name: LOG_LEVEL
  value: {{ .Values.controller.logLevel | quote }}
- name: LOG_DEV_MODE
  value: {{ .Values.controller.logDevMode | quote }}
{{- end -}}

{{/* Probes on the health port that all programs have. */}}
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

{{/* Names of the objects that more than one template refers to. */}}
{{- define "stoker-operator.receiverName" -}}
{{ include "stoker-operator.fullname" . }}-receiver
{{- end -}}

{{- define "stoker-operator.webhookName" -}}
{{ include "stoker-operator.fullname" . }}-webhook
{{- end -}}

{{- define "stoker-operator.webhookCertSecretName" -}}
{{ include "stoker-operator.fullname" . }}-webhook-tls
{{- end -}}

{{/* Name of the Secret that holds the values of an authentication method, empty without the method. Takes {context, method}. */}}
{{- define "stoker-operator.receiverSecretName" -}}
{{- $values := index .context.Values.webhookReceiver .method -}}
{{- if $values.secretRef.name -}}
{{- $values.secretRef.name -}}
{{- else if $values.secret -}}
{{- printf "%s-%s" (include "stoker-operator.receiverName" .context) .method -}}
{{- end -}}
{{- end -}}
