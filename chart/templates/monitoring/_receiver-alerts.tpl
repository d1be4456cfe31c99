{{/* Alerts on the receiver. */}}
{{- define "stoker-operator.receiverAlerts" -}}
{{- $ours := printf "namespace=%q" (include "stoker-operator.namespace" .) }}
{{ include "stoker-operator.downAlert" (dict "context" . "program" "Receiver" "deployment" (include "stoker-operator.receiverName" .) "cost" "Webhooks are lost unless their senders try again. Polling still brings changes.") }}
{{ include "stoker-operator.unseenAlert" (dict "context" . "program" "Receiver" "metric" "sync_receiver_unauthenticated") }}
- alert: SyncReceiverIsOpen
  expr: max(sync_receiver_unauthenticated{ {{- $ours -}} }) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: The receiver accepts webhooks from anybody.
    description: Neither a secret nor a token is configured, so whoever reaches the receiver can ask for a sync.
- alert: SyncDeliveriesNotStored
  expr: |-
    sum(rate(sync_receiver_deliveries_total{ {{- $ours }}, reason=~"InternalError|Overloaded|ApiServerRefused|ApiServerUnavailable"}[10m]))
      / sum(rate(sync_receiver_deliveries_total{ {{- $ours -}} }[10m])) > 0.05
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value | humanizePercentage }} of the webhooks are answered with 5xx.'` }}
    description: They are lost unless their senders try again. Polling still brings changes.
- alert: SyncAuthenticationFailures
  expr: sum(increase(sync_receiver_deliveries_total{ {{- $ours }}, reason=~"Unauthorized|TooManyFailures"}[10m])) > 50
  for: 5m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value | humanize }} webhooks within 10 minutes failed authentication.'` }}
    description: A sender has the wrong secret, or somebody tries to guess one.
- alert: SyncConnectionsDropped
  expr: sum(increase(sync_receiver_dropped_connections_total{ {{- $ours -}} }[10m])) > 0
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: The receiver closes connections, since it has too many.
    description: Webhooks are lost unless their senders try again.
{{- end -}}
