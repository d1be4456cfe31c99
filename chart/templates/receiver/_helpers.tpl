{{/* Name of the Secret for an authentication method, or empty if it isn't configured. Takes {context, method}. */}}
{{- define "stoker-operator.receiverSecretName" -}}
{{- $values := index .context.Values.webhookReceiver .method -}}
{{- if $values.secretRef.name -}}
{{- $values.secretRef.name -}}
{{- else if $values.secret -}}
{{- printf "%s-%s" (include "stoker-operator.receiverName" .context) .method -}}
{{- end -}}
{{- end -}}

{{/* Renders text if senders need neither a signature nor a token, and nothing otherwise. */}}
{{- define "stoker-operator.receiverIsOpen" -}}
{{- with .Values.webhookReceiver -}}
{{- if not (or .hmac.secret .hmac.secretRef.name .token.secret .token.secretRef.name) -}}
yes
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Protocol of the receiver, and name of its port, which some ingress controllers detect the protocol from. */}}
{{- define "stoker-operator.receiverProtocol" -}}
{{- ternary "http" "https" (empty .Values.webhookReceiver.tls.secretName) -}}
{{- end -}}

{{/* Port of the receiver's Service. */}}
{{- define "stoker-operator.receiverServicePort" -}}
{{- default .Values.webhookReceiver.port .Values.webhookReceiver.service.port -}}
{{- end -}}

{{/* Secrets that the receiver reads as files, as a map from directory names to names of Secrets. */}}
{{- define "stoker-operator.receiverFolders" -}}
{{- range $method := list "hmac" "token" }}
{{- with include "stoker-operator.receiverSecretName" (dict "context" $ "method" $method) }}
{{ $method }}: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.webhookReceiver.tls.secretName }}
tls: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Volumes for these Secrets, and their mounts. Whole Secrets, because a file mounted with subPath is never updated, and the keys of single GatewaySyncs are in the same Secret. */}}
{{- define "stoker-operator.receiverVolumes" -}}
{{- range $folder, $secret := include "stoker-operator.receiverFolders" . | fromYaml }}
- name: {{ $folder }}
  secret:
    secretName: {{ $secret | quote }}
{{- end }}
{{- end -}}

{{- define "stoker-operator.receiverMounts" -}}
{{- range $folder, $_ := include "stoker-operator.receiverFolders" . | fromYaml }}
- name: {{ $folder }}
  mountPath: /etc/webhook/{{ $folder }}
  readOnly: true
{{- end }}
{{- end -}}

{{/* Environment variables of the receiver. */}}
{{- define "stoker-operator.receiverEnv" -}}
{{- $folders := include "stoker-operator.receiverFolders" . | fromYaml -}}
{{- with .Values.webhookReceiver -}}
- name: RECEIVER_PORT
  value: {{ .port | quote }}
- name: HEALTH_PORT
  value: "8081"
- name: METRICS_PORT
  value: "8080"
{{- if hasKey $folders "hmac" }}
- name: WEBHOOK_HMAC_SECRET_FILE
  value: /etc/webhook/hmac/{{ .hmac.secretRef.key }}
{{- end }}
{{- if hasKey $folders "token" }}
- name: WEBHOOK_BEARER_TOKEN_FILE
  value: /etc/webhook/token/{{ .token.secretRef.key }}
{{- end }}
{{- if hasKey $folders "tls" }}
- name: TLS_CERT_FILE
  value: /etc/webhook/tls/tls.crt
- name: TLS_KEY_FILE
  value: /etc/webhook/tls/tls.key
{{- end }}
- name: MAX_BODY_BYTES
  value: {{ int64 .maxBodyBytes | quote }}
- name: MAX_CONNECTIONS
  value: {{ int64 .maxConnections | quote }}
{{- if not (include "stoker-operator.isLeftOut" .maxConnectionsPerAddress) }}
- name: MAX_CONNECTIONS_PER_ADDRESS
  value: {{ int64 .maxConnectionsPerAddress | quote }}
{{- end }}
- name: MAX_AUTH_FAILURES_PER_MINUTE
  value: {{ int64 .maxAuthFailuresPerMinute | quote }}
{{- $hops := ternary "1" "0" (or .ingress.enabled .httpRoute.enabled) }}
{{- if not (include "stoker-operator.isLeftOut" .trustedProxyHops) }}
{{- $hops = toString .trustedProxyHops }}
{{- end }}
- name: TRUSTED_PROXY_HOPS
  value: {{ $hops | quote }}
{{ include "stoker-operator.logEnv" $ }}
{{- end }}
{{- end -}}
