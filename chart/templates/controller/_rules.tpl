{{/* Permissions of the controller in the namespaces that it watches. */}}
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
# Credentials of repositories and gateways, read by name when needed.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get{{ if .Values.githubApp.enabled }}, create, update{{ end }}]
# Releases with their spec.sync, for rollbacks and for gateways that a rollout hasn't reached yet.
- apiGroups: [sync.io]
  resources: [syncreleases]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [sync.io]
  resources: [syncreleases/status]
  verbs: [patch]
# Workloads whose annotated pods can't be created, for resources without gateways.
- apiGroups: [apps]
  resources: [replicasets, statefulsets, daemonsets]
  verbs: [list]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list]
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

{{/* Permissions of the controller for cluster-scoped objects. */}}
{{- define "stoker-operator.controllerClusterRules" -}}
{{- if .Values.metrics.enabled }}
# The API server authenticates and authorizes clients of the metrics endpoint.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- if and .Values.webhook.enabled (not .Values.certManager.enabled) }}
# The controller writes its CA into the configuration of its webhook.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  resourceNames: [{{ include "stoker-operator.webhookName" . }}]
  verbs: [get, patch]
{{- end }}
{{- end -}}

{{/* Permissions of the controller for its own state. `create`, which can't be limited to names, restores deleted objects. */}}
{{- define "stoker-operator.controllerOwnRules" -}}
{{- if .Values.leaderElection.enabled }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "stoker-operator.leaseName" . }}]
  # Some clusters require `delete` to change owners, and the Lease is owned by the leader's pod.
  verbs: [get, update, delete]
{{- end }}
{{- if and .Values.webhook.enabled (not .Values.certManager.enabled) }}
# The CA and the serving certificate that the controller creates for all its replicas.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "stoker-operator.webhookName" . }}-certificate]
  verbs: [get, update]
{{- end }}
{{- end -}}
