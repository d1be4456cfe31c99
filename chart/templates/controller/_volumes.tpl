{{/* Volumes of the controller, and where it finds them. */}}
{{- define "stoker-operator.controllerVolumes" -}}
# git writes its temporary files here; the root file system is read-only.
- name: tmp
  emptyDir: {}
# SSH keys while a host is asked, and the keys of certificates: never on the disk of the node.
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
    # The key of the CA may be next to it, and is nothing for a pod.
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
