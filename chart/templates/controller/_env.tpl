{{/* Environment variables of the controller. */}}
{{- define "stoker-operator.controllerEnv" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_UID
  valueFrom:
    fieldRef:
      fieldPath: metadata.uid
{{- if .Values.leaderElection.enabled }}
- name: LEASE_NAME
  value: {{ include "stoker-operator.leaseName" . }}
{{- end }}
{{- with .Values.controller.watchNamespaces }}
- name: WATCH_NAMESPACES
  value: {{ join "," . | quote }}
{{- end }}
- name: LEADER_ELECTION
  value: {{ .Values.leaderElection.enabled | quote }}
- name: WEBHOOK_PORT
  value: {{ ternary .Values.webhook.port 0 .Values.webhook.enabled | quote }}
{{- if .Values.webhook.enabled }}
- name: WEBHOOK_REQUIRE_LABEL
  value: {{ .Values.webhook.namespaceSelector.requireLabel | quote }}
{{- if .Values.webhook.clientCA.secretName }}
- name: WEBHOOK_CLIENT_CA_FILE
  value: /etc/webhook/client-ca/ca.crt
{{- end }}
{{- if .Values.certManager.enabled }}
- name: WEBHOOK_CERT_DIR
  value: /etc/webhook/certs
{{- else }}
- name: WEBHOOK_SELF_SIGNED
  value: {{ include "stoker-operator.webhookName" . }}
{{- end }}
{{- end }}
- name: HEALTH_PORT
  value: {{ .Values.controller.healthPort | quote }}
- name: METRICS_PORT
  value: {{ ternary .Values.metrics.port 0 .Values.metrics.enabled | quote }}
- name: METRICS_SECURE
  value: "true"
- name: METRICS_HOSTS
  value: {{ printf "%[1]s.%[2]s.svc,%[1]s.%[2]s.svc.cluster.local" (include "stoker-operator.metricsName" .) (include "stoker-operator.namespace" .) }}
- name: DEFAULT_AGENT_IMAGE
  value: {{ include "stoker-operator.image" (dict "context" . "image" .Values.agentImage) }}
{{- with .Values.agentImage.allowedRepositories }}
- name: AGENT_IMAGE_ALLOWED_REPOSITORIES
  value: {{ join "," . | quote }}
{{- end }}
- name: AGENT_LOG_LEVEL
  value: {{ .Values.agent.logLevel | quote }}
- name: AGENT_RESOURCES
  value: {{ default (dict) .Values.agent.resources | toJson | quote }}
- name: AGENT_ALLOW_ROOT
  value: {{ .Values.agent.allowRoot | quote }}
{{- if .Values.agent.caConfigMap.name }}
- name: AGENT_CA_CONFIG_MAP
  value: {{ .Values.agent.caConfigMap | toJson | quote }}
{{- end }}
- name: GIT_ALLOW_LOCAL
  value: {{ .Values.controller.git.allowLocal | quote }}
{{- with .Values.controller.git.deniedNetworks }}
- name: GIT_DENIED_NETWORKS
  value: {{ join "," . | quote }}
{{- end }}
- name: MEMORY_PATH
  value: /run/stoker-operator
- name: GIT_CONCURRENCY
  value: {{ .Values.controller.git.concurrency | quote }}
- name: GIT_CONCURRENCY_PER_NAMESPACE
  value: {{ .Values.controller.git.concurrencyPerNamespace | quote }}
- name: GIT_CONCURRENCY_PER_HOST
  value: {{ .Values.controller.git.concurrencyPerHost | quote }}
- name: GIT_RATE_PER_HOST
  value: {{ .Values.controller.git.ratePerHost | quote }}
{{- with .Values.clusterName }}
- name: CLUSTER_NAME
  value: {{ . | quote }}
{{- end }}
- name: GITHUB_APP
  value: {{ .Values.githubApp.enabled | quote }}
- name: AUTO_BIND_AGENT
  value: {{ .Values.rbac.autoBindAgent.enabled | quote }}
{{ include "stoker-operator.logEnv" . }}
{{- end -}}
