{{/* Alerts on the receiver. */}}
{{- define "stoker-operator.receiverAlerts" -}}
{{- $ours := printf "namespace=%q" (include "stoker-operator.namespace" .) }}
{{ include "stoker-operator.downAlert" (dict "context" . "program" "Receiver" "deployment" (include "stoker-operator.receiverName" .) "cost" "Webhooks are lost unless their senders retry. Polling still detects changes.") }}
{{ include "stoker-operator.unseenAlert" (dict "context" . "program" "Receiver" "metric" "sync_receiver_unauthenticated") }}
- alert: SyncReceiverIsOpen
  expr: max(sync_receiver_unauthenticated{ {{- $ours -}} }) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: The receiver accepts webhooks without authentication.
    description: Neither a secret nor a token is configured, so any client that can reach the receiver can request a sync.
- alert: SyncDeliveriesNotStored
  expr: |-
    sum(rate(sync_receiver_deliveries_total{ {{- $ours }}, reason=~"InternalError|Overloaded|ApiServerRefused|ApiServerUnavailable"}[10m]))
      / sum(rate(sync_receiver_deliveries_total{ {{- $ours -}} }[10m])) > 0.05
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value | humanizePercentage }} of the webhooks receive a 5xx response.'` }}
    description: They are lost unless their senders retry. Polling still detects changes.
- alert: SyncAuthenticationFailures
  expr: sum(increase(sync_receiver_deliveries_total{ {{- $ours }}, reason=~"Unauthorized|Expired|TooManyFailures"}[10m])) > 50
  for: 5m
  labels:
    severity: warning
  annotations:
    summary: {{ `'{{ $value | humanize }} webhooks within 10 minutes failed authentication.'` }}
    description: A sender has the wrong secret, or an attacker is guessing one.
- alert: SyncConnectionsDropped
  expr: sum(increase(sync_receiver_dropped_connections_total{ {{- $ours -}} }[10m])) > 0
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: The receiver closes connections because it has too many.
    description: Webhooks are lost unless their senders retry.
{{- end -}}
