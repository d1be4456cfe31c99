{{/* What the controller needs in the namespaces that it watches. */}}
{{- define "stoker-operator.controllerRules" -}}
- apiGroups: [sync.io]
  resources: [gatewaysyncs]
  verbs: [get, list, watch]
- apiGroups: [sync.io]
  resources: [syncreports]
  verbs: [list, watch]
- apiGroups: [sync.io]
  resources: [gatewaysyncs/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
{{- if and .Values.webhook.enabled .Values.webhook.evictPodsWithoutSidecar }}
# Pods that were created without the sidecar.
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
{{- end }}
# Credentials of repositories and gateways are read by name when they are needed.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get{{ if .Values.githubApp.enabled }}, create, update{{ end }}]
# Revisions of spec.sync, for gateways that a rollout has not come to yet.
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, create, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- if .Values.rbac.autoBindAgent.enabled }}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles]
  resourceNames: [sync-agent]
  verbs: [bind]
{{- end }}
{{- end -}}

{{/* What the controller needs on objects that belong to no namespace. */}}
{{- define "stoker-operator.controllerClusterRules" -}}
{{- if .Values.metrics.enabled }}
# Callers of the metrics endpoint are authenticated and authorised by the API server.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- if and .Values.webhook.enabled (not .Values.certManager.enabled) }}
# The controller writes the CA that it made into the configuration of its own webhook.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  resourceNames: [{{ include "stoker-operator.webhookName" . }}]
  verbs: [get, patch]
{{- end }}
{{- end -}}

{{/* What the controller needs for itself; `create` cannot be limited to names, and heals what somebody deleted. */}}
{{- define "stoker-operator.controllerOwnRules" -}}
{{- if .Values.leaderElection.enabled }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "stoker-operator.leaseName" . }}]
  # Some clusters let only those change owners who may delete: the Lease goes with the pod of its holder.
  verbs: [get, update, delete]
{{- end }}
{{- if and .Values.webhook.enabled (not .Values.certManager.enabled) }}
# The CA and the serving certificate that the controller makes, shared by its replicas.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "stoker-operator.webhookName" . }}-certificate]
  verbs: [get, update]
{{- end }}
{{- end -}}
