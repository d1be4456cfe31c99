{{/* Alerts on the agents, which run in the namespaces of their gateways. */}}
{{- define "stoker-operator.agentAlerts" -}}
- alert: SyncAgentFails
  expr: sum by (namespace, pod) (increase(sync_agent_syncs_total{result="error"}[15m])) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The sync agent of pod {{ $labels.namespace }}/{{ $labels.pod }} fails.'` }}
    description: The gateway doesn't have the current files. The SyncReport of the pod shows why.
- alert: SyncReloadsFail
  expr: sum by (namespace, pod) (increase(sync_agent_reloads_total{result="error"}[15m])) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The gateway in pod {{ $labels.namespace }}/{{ $labels.pod }} cannot be notified about changes.'` }}
    description: The files were delivered, but the gateway may still use the previous ones. The SyncReport of the pod shows why.
- alert: SyncFilesDrift
  expr: sum by (namespace, pod) (increase(sync_agent_drift_total[15m])) > 0
  for: 1h
  labels:
    severity: info
  annotations:
    summary: {{ `'Synced files in pod {{ $labels.namespace }}/{{ $labels.pod }} are repeatedly changed.'` }}
    description: For an hour, the agent has repaired files that another program also writes.
- alert: SyncAgentOutOfTouch
  expr: |-
    time() - max by (namespace, pod) (sync_agent_last_success_timestamp_seconds)
      > 1800 + 2 * (max by (namespace, pod) (sync_agent_sync_period_seconds) > 0)
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ `'The files of pod {{ $labels.namespace }}/{{ $labels.pod }} have not been confirmed as correct.'` }}
    description: For half an hour plus two sync periods, the agent hasn't completed a successful check or sync. The SyncReport of the pod shows why.
{{- end -}}
