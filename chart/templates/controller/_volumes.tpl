{{/* Volumes of the controller, and their mounts. */}}
{{- define "stoker-operator.controllerVolumes" -}}
# Temporary files of git, because the root file system is read-only.
- name: tmp
  emptyDir: {}
# SSH keys during a query, and keys of certificates, in memory so that they're never on the node's disk.
- name: memory
  emptyDir:
    medium: Memory
    sizeLimit: 8Mi
{{- if and .Values.webhook.enabled .Values.certManager.enabled }}
- name: webhook-certs
  secret:
    secretName: {{ include "stoker-operator.webhookCertSecretName" . }}
{{- end }}
{{- if and .Values.webhook.enabled .Values.webhook.clientCA.secretName }}
- name: webhook-client-ca
  secret:
    secretName: {{ .Values.webhook.clientCA.secretName | quote }}
    # The Secret can also contain the key of the CA, which no pod must have.
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- end -}}

{{- define "stoker-operator.controllerMounts" -}}
- name: tmp
  mountPath: /tmp
- name: memory
  mountPath: /run/stoker-operator
{{- if and .Values.webhook.enabled .Values.certManager.enabled }}
- name: webhook-certs
  mountPath: /etc/webhook/certs
  readOnly: true
{{- end }}
{{- if and .Values.webhook.enabled .Values.webhook.clientCA.secretName }}
- name: webhook-client-ca
  mountPath: /etc/webhook/client-ca
  readOnly: true
{{- end }}
{{- end -}}
