{{/* Alerts on the controller. */}}
{{- define "stoker-operator.controllerAlerts" -}}
{{- /* Selects the metrics of this release's programs. Metrics of a GatewaySync or an agent have the namespace of that object instead. */}}
{{- $ours := printf "namespace=%q" (include "stoker-operator.namespace" .) }}
- alert: SyncControllerHasNoLeader
  expr: max(sync_controller_leader{ {{- $ours -}} }) == 0
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No controller of the sync operator is the leader.
    description: Pushes don't reach the gateways, neither through webhooks nor through polling. Check the logs of the controller and its Lease.
{{ include "stoker-operator.downAlert" (dict "context" . "program" "Controller" "deployment" (include "stoker-operator.fullname" .) "cost" "Pushes don't reach the gateways, neither through webhooks nor through polling. Annotated pods are refused, or start without the sidecar if the failure policy is Ignore.") }}
{{ include "stoker-operator.unseenAlert" (dict "context" . "program" "Controller" "metric" "sync_controller_leader") }}
- alert: SyncReconcilesFail
  expr: sum(rate(sync_controller_reconciles_total{ {{- $ours }}, outcome="failure"}[10m])) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: Reconciles of GatewaySyncs fail.
    description: The API server rejects requests of the controller, or the controller has a bug. Its log shows which.
- alert: SyncQueueIsSlow
  expr: histogram_quantile(0.99, sum by (le) (rate(sync_controller_queue_wait_seconds_bucket{ {{- $ours -}} }[10m]))) > 10
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'GatewaySyncs wait {{ $value | humanizeDuration }} for a worker of the controller.'` }}
    description: The controller can't keep up, so requests take effect late.
- alert: SyncGitQueriesFail
  expr: |-
    sum(rate(sync_controller_git_queries_total{ {{- $ours }}, outcome="failure"}[10m]))
      / sum(rate(sync_controller_git_queries_total{ {{- $ours -}} }[10m])) > 0.1
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value | humanizePercentage }} of the queries to git servers fail.'` }}
    description: Changes in git aren't detected. The condition RefResolved of the affected GatewaySyncs shows why.
{{- $late := include "stoker-operator.lateRenewal" . | int64 }}
- alert: SyncWebhookCertificateExpires
  expr: (sync_controller_admission_certificate_expiry_timestamp_seconds{ {{- $ours -}} } > 0) - time() < {{ $late }}
  for: {{ min 900 (div $late 4) }}s
  labels:
    severity: critical
  annotations:
    summary: {{ `'The certificate of the admission endpoint expires in {{ $value | humanizeDuration }} and was not renewed.'` }}
    description: When it has expired, annotated pods are refused, or start without the sidecar if the failure policy is Ignore.
- alert: SyncAdmissionFails
  expr: sum(increase(sync_controller_admission_reviews_total{ {{- $ours }}, outcome="failed"}[10m])) > 0
  for: 5m
  labels:
    severity: warning
  annotations:
    summary: Reviews of annotated pods fail.
    description: The pods are refused, or start without the sidecar if the failure policy is Ignore. The log of the controller shows why.
- alert: SyncNotReady
  {{- /* A stopped rollout has its own alert. Unknown is expected while the resource is paused or a rollout is in progress. A newer commit waits for its preview first, for up to four minutes. */}}
  expr: |-
    max by (namespace, name) (sync_controller_gatewaysync_condition{type="Ready", status="False"} == 1)
        unless on (namespace, name) sync_controller_rollout_phase{phase="Stopped"}
      or max by (namespace, name) (sync_controller_gatewaysync_condition{type="Ready", status="Unknown"} == 1)
        unless on (namespace, name) (
          sync_controller_gatewaysync_paused == 1
            or sync_controller_rollout_phase{phase!="Complete"}
            or max_over_time(sync_controller_rollout_waiting[5m])
        )
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'GatewaySync {{ $labels.namespace }}/{{ $labels.name }} is not ready.'` }}
    description: Its condition Ready has been False or Unknown for 15 minutes. The message of the condition shows why.
- alert: SyncGatewaysNotSynced
  expr: sum by (namespace, name) (sync_controller_gateways{state=~"pending|error|skewed"}) > 0
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value }} gateways of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} are not synced.'` }}
    description: They don't have the files of the resolved commit. status.discoveredGateways and the SyncReports show why.
- alert: SyncSidecarsMissing
  expr: sum by (namespace, name) (sync_controller_gateways{state="missingSidecar"}) > 0
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value }} gateways of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} have no sidecar.'` }}
    description: They were created while injection wasn't available. Delete the pods.
- alert: SyncRolloutStopped
  expr: max by (namespace, name) (sync_controller_rollout_phase{phase="Stopped"}) > 0
  for: 5m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The rollout of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} stopped.'` }}
    description: Too many gateways failed with the newest commit. status.rollout lists them. The rollout doesn't continue until you roll back, retry, or push a newer commit.
- alert: SyncRolloutAwaitsApproval
  {{- /* Each newer commit waits for its preview before its approval. */}}
  expr: max by (namespace, name) (max_over_time(sync_controller_rollout_waiting{reason="Approval"}[5m])) > 0
  for: {{ .Values.prometheusRule.approvalWithin }}
  labels:
    severity: info
  annotations:
    summary: {{ `'The rollout of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} waits for approval.'` }}
    description: The next wave needs an approval. Until then, its gateways keep their current commit.
- alert: SyncRolloutHeldBack
  expr: max by (namespace, name) (sync_controller_rollout_waiting{reason="Gateways"}) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The rollout of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} is held back.'` }}
    description: A wave has no gateway that can be verified. Until that changes, no further gateway receives a newer commit, not even a fix. status.rollout.message shows the wave, and what to do.
{{- end -}}
