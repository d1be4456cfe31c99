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

{{/* Names of the objects that more than one template refers to. */}}
{{- define "stoker-operator.receiverName" -}}
{{ include "stoker-operator.fullname" . }}-receiver
{{- end -}}

{{- define "stoker-operator.metricsName" -}}
{{ include "stoker-operator.fullname" . }}-metrics
{{- end -}}

{{- define "stoker-operator.webhookName" -}}
{{ include "stoker-operator.fullname" . }}-webhook
{{- end -}}

{{- define "stoker-operator.webhookCertSecretName" -}}
{{ include "stoker-operator.fullname" . }}-webhook-tls
{{- end -}}

{{/* Name of the service account of the controller. */}}
{{- define "stoker-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "stoker-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name must be set where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Name of the service account of the receiver: not the controller's, whose rights it must not have. */}}
{{- define "stoker-operator.receiverServiceAccountName" -}}
{{- $name := .Values.webhookReceiver.serviceAccount.name -}}
{{- if .Values.webhookReceiver.serviceAccount.create -}}
{{- $name = default (include "stoker-operator.receiverName" .) $name -}}
{{- end -}}
{{- $name = required "webhookReceiver.serviceAccount.name must be set where webhookReceiver.serviceAccount.create is false" $name -}}
{{- if eq $name (include "stoker-operator.serviceAccountName" .) -}}
{{- fail "webhookReceiver.serviceAccount.name must not be the service account of the controller" -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* Name by which the API server knows a service account of the release namespace. Takes {context, name}. */}}
{{- define "stoker-operator.userName" -}}
system:serviceaccount:{{ .context.Release.Namespace }}:{{ .name }}
{{- end -}}
