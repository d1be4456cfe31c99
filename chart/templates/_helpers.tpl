{{/* Name of the chart in resource names, at most 63 characters as labels allow. */}}
{{- define "stoker-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of resource names, limited to 46 characters to leave room for the longest suffix. */}}
{{- define "stoker-operator.fullname" -}}
{{- $name := include "stoker-operator.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- regexReplaceAll "[-.]+$" (default $full .Values.fullnameOverride | trunc 46) "" -}}
{{- end -}}

{{/* Namespace of the release's objects. */}}
{{- define "stoker-operator.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* Labels of a component for selectors. Takes {context, component}. */}}
{{- define "stoker-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "stoker-operator.name" .context }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/*
Labels of an object: selector and origin labels, then labels from its values, then commonLabels. Earlier labels take
precedence. Takes {context, component, labels}; `labels` is optional.
*/}}
{{- define "stoker-operator.labels" -}}
{{- $own := include "stoker-operator.selectorLabels" . | fromYaml -}}
{{- $chart := printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- $origin := dict "app.kubernetes.io/version" .context.Chart.AppVersion "app.kubernetes.io/managed-by" .context.Release.Service "helm.sh/chart" $chart -}}
{{- merge $own $origin (deepCopy (default (dict) .labels)) (deepCopy (default (dict) .context.Values.commonLabels)) | toYaml -}}
{{- end -}}

{{/*
Metadata of an object in the namespace of the release. Takes {context, component, name}, and optionally `labels`,
`annotations`, and another `namespace`.
*/}}
{{- define "stoker-operator.metadata" -}}
name: {{ .name | quote }}
namespace: {{ default (include "stoker-operator.namespace" .context) .namespace | quote }}
labels:
  {{- include "stoker-operator.labels" . | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Reference of an image, with its digest if it is set, otherwise with its tag. Takes {context, image}. */}}
{{- define "stoker-operator.image" -}}
{{- $parts := splitList "/" .image.repository -}}
{{- with .image.registry -}}
{{- if regexMatch "[.:]|^localhost$" (first $parts) -}}
{{- $parts = rest $parts -}}
{{- end -}}
{{- $parts = prepend $parts (trimSuffix "/" .) -}}
{{- end -}}
{{- $version := printf ":%s" (default .context.Chart.AppVersion .image.tag) -}}
{{- with .image.digest -}}
{{- $version = printf "@%s" . -}}
{{- end -}}
{{- printf "%s%s" (join "/" $parts) $version -}}
{{- end -}}

{{/* Renders text if a value of any kind is `""` or null, and nothing otherwise. 0 is a value. */}}
{{- define "stoker-operator.isLeftOut" -}}
{{- if or (kindIs "invalid" .) (eq (toString .) "") -}}
yes
{{- end -}}
{{- end -}}

{{/* Whole seconds of a Go duration such as 1h30m. */}}
{{- define "stoker-operator.seconds" -}}
{{- $seconds := dict "h" 3600 "m" 60 "s" 1 "ms" 0 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" (default "" .) -1 -}}
{{- $sum = add $sum (mul (regexFind "[0-9]+" . | int64) (get $seconds (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{/* Names of the objects that more than one template refers to. */}}
{{- define "stoker-operator.receiverName" -}}
{{ include "stoker-operator.fullname" . }}-receiver
{{- end -}}

{{- define "stoker-operator.metricsName" -}}
{{ include "stoker-operator.fullname" . }}-metrics
{{- end -}}

{{- define "stoker-operator.leaseName" -}}
{{ include "stoker-operator.fullname" . }}-controller
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
{{- required "serviceAccount.create is false; set serviceAccount.name to an existing service account" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Name of the service account of the receiver, which must not have the controller's permissions. */}}
{{- define "stoker-operator.receiverServiceAccountName" -}}
{{- $name := .Values.webhookReceiver.serviceAccount.name -}}
{{- if .Values.webhookReceiver.serviceAccount.create -}}
{{- $name = default (include "stoker-operator.receiverName" .) $name -}}
{{- end -}}
{{- $name = required "webhookReceiver.serviceAccount.create is false; set webhookReceiver.serviceAccount.name to an existing service account" $name -}}
{{- if eq $name (include "stoker-operator.serviceAccountName" .) -}}
{{- fail "webhookReceiver.serviceAccount.name must not be the service account of the controller; choose another name" -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* User name of a service account in the release namespace. Takes {context, name}. */}}
{{- define "stoker-operator.userName" -}}
system:serviceaccount:{{ include "stoker-operator.namespace" .context }}:{{ .name }}
{{- end -}}
