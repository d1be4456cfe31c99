{{/* Alerts on the agents, which run in the namespaces of their gateways. */}}
{{- define "stoker-operator.agentAlerts" -}}
- alert: SyncAgentFails
  expr: sum by (namespace, pod) (increase(sync_agent_syncs_total{result="error"}[15m])) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The sync agent of pod {{ $labels.namespace }}/{{ $labels.pod }} fails.'` }}
    description: The gateway does not have the files that it should. The SyncReport of the pod says why.
- alert: SyncReloadsFail
  expr: sum by (namespace, pod) (increase(sync_agent_reloads_total{result="error"}[15m])) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The gateway in pod {{ $labels.namespace }}/{{ $labels.pod }} cannot be notified of changes.'` }}
    description: The files are in place, and the gateway does not know of them yet. The SyncReport of the pod says why.
- alert: SyncFilesDrift
  expr: sum by (namespace, pod) (increase(sync_agent_drift_total[15m])) > 0
  for: 1h
  labels:
    severity: info
  annotations:
    summary: {{ `'Synced files in pod {{ $labels.namespace }}/{{ $labels.pod }} keep being changed.'` }}
    description: For an hour the agent has been repairing files that something else writes too.
- alert: SyncAgentOutOfTouch
  expr: |-
    time() - max by (namespace, pod) (sync_agent_last_success_timestamp_seconds)
      > 1800 + 2 * (max by (namespace, pod) (sync_agent_sync_period_seconds) > 0)
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ `'Nobody knows whether the files of pod {{ $labels.namespace }}/{{ $labels.pod }} are in line.'` }}
    description: For half an hour more than two sync periods the agent has not found them as they must be. The SyncReport of the pod says why.
{{- end -}}
