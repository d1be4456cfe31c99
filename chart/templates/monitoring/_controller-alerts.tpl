{{/* Alerts on the controller. */}}
{{- define "stoker-operator.controllerAlerts" -}}
{{- /* What the programs of this release export. A metric of a GatewaySync or of an agent has the namespace of these instead. */}}
{{- $ours := printf "namespace=%q" (include "stoker-operator.namespace" .) }}
- alert: SyncControllerHasNoLeader
  expr: max(sync_controller_leader{ {{- $ours -}} }) == 0
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No controller of the sync operator leads.
    description: Pushes do not reach the gateways, by webhook or by polling. Look at the logs of the controller and at its Lease.
{{ include "stoker-operator.downAlert" (dict "context" . "program" "Controller" "deployment" (include "stoker-operator.fullname" .) "cost" "Pushes do not reach the gateways, by webhook or by polling, and annotated pods are refused, or start without their sidecar with the failure policy Ignore.") }}
{{ include "stoker-operator.unseenAlert" (dict "context" . "program" "Controller" "metric" "sync_controller_leader") }}
- alert: SyncReconcilesFail
  expr: sum(rate(sync_controller_reconciles_total{ {{- $ours }}, outcome="failure"}[10m])) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: Reconciles of GatewaySyncs fail.
    description: The API server refuses what the controller does, or the controller has a defect. Its log says which.
- alert: SyncQueueIsSlow
  expr: histogram_quantile(0.99, sum by (le) (rate(sync_controller_queue_wait_seconds_bucket{ {{- $ours -}} }[10m]))) > 10
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'GatewaySyncs wait {{ $value | humanizeDuration }} for a worker of the controller.'` }}
    description: The controller does not keep up, so requests take long to show an effect.
- alert: SyncGitQueriesFail
  expr: |-
    sum(rate(sync_controller_git_queries_total{ {{- $ours }}, outcome="failure"}[10m]))
      / sum(rate(sync_controller_git_queries_total{ {{- $ours -}} }[10m])) > 0.1
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value | humanizePercentage }} of the queries to git hosts fail.'` }}
    description: Changes in git are not seen. The condition RefResolved of the GatewaySyncs concerned says why.
{{- $late := include "stoker-operator.lateRenewal" . | int64 }}
- alert: SyncWebhookCertificateExpires
  expr: (sync_controller_admission_certificate_expiry_timestamp_seconds{ {{- $ours -}} } > 0) - time() < {{ $late }}
  for: {{ min 900 (div $late 4) }}s
  labels:
    severity: critical
  annotations:
    summary: {{ `'The certificate of the admission endpoint ends in {{ $value | humanizeDuration }} and was not renewed.'` }}
    description: Once it has expired, annotated pods are refused, or start without their sidecar with the failure policy Ignore.
- alert: SyncAdmissionFails
  expr: sum(increase(sync_controller_admission_reviews_total{ {{- $ours }}, outcome="failed"}[10m])) > 0
  for: 5m
  labels:
    severity: warning
  annotations:
    summary: Reviews of annotated pods fail.
    description: The pods are refused, or start without their sidecar with the failure policy Ignore. The log of the controller says why.
- alert: SyncNotReady
  {{- /* A rollout that stopped has its own alert. Unknown may last while the resource is paused, or a rollout goes on. */}}
  expr: |-
    max by (namespace, name) (sync_controller_gatewaysync_condition{type="Ready", status="False"} == 1)
        unless on (namespace, name) sync_controller_rollout_phase{phase="Stopped"}
      or max by (namespace, name) (sync_controller_gatewaysync_condition{type="Ready", status="Unknown"} == 1)
        unless on (namespace, name) (
          sync_controller_gatewaysync_paused == 1
            or sync_controller_rollout_phase{phase!="Complete"}
            or sync_controller_rollout_waiting
        )
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'GatewaySync {{ $labels.namespace }}/{{ $labels.name }} is not ready.'` }}
    description: Its condition Ready has been False or Unknown for 15 minutes, and says why.
- alert: SyncGatewaysNotSynced
  expr: sum by (namespace, name) (sync_controller_gateways{state=~"pending|error|skewed"}) > 0
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value }} gateways of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} are not synced.'` }}
    description: Their files are not those of the resolved commit. status.discoveredGateways and the SyncReports say why.
- alert: SyncSidecarsMissing
  expr: sum by (namespace, name) (sync_controller_gateways{state="missingSidecar"}) > 0
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value }} gateways of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} have no sidecar.'` }}
    description: They were created while injection was not available. Delete the pods.
- alert: SyncRolloutStopped
  expr: max by (namespace, name) (sync_controller_rollout_phase{phase="Stopped"}) > 0
  for: 5m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The rollout of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} stopped.'` }}
    description: Too many gateways failed with the newest commit. status.rollout says which. Nothing moves until somebody decides, or a newer commit comes.
- alert: SyncRolloutAwaitsApproval
  expr: max by (namespace, name) (sync_controller_rollout_waiting{reason="Approval"}) > 0
  for: {{ .Values.prometheusRule.approvalWithin }}
  labels:
    severity: info
  annotations:
    summary: {{ `'The rollout of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} waits for approval.'` }}
    description: Somebody has to approve the next wave. Until then the gateways that it is about keep the commit that they have.
- alert: SyncRolloutHeldBack
  expr: max by (namespace, name) (sync_controller_rollout_waiting{reason=~"Agents|Gateways"}) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The rollout of GatewaySync {{ $labels.namespace }}/{{ $labels.name }} is held back.'` }}
    description: Agents are too old to know rollouts, or a wave has no gateway that could show whether all is well. Until that changes, no other gateway gets a newer commit, also no fix. status.rollout.message says which pods or which wave, and what to do.
{{- end -}}
