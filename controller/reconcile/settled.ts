import type { Intent } from '../intent/choose-intent.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/** Whether the status already says what came of this spec, request and push: nobody waits for it. */
export function isSettled({ generation, status }: ObservedGatewaySync, { request, push }: Intent): boolean {
  return status.observedGeneration === generation && request === undefined && push === undefined;
}

/** Whether the status says at least that this spec, request and push wait for the host: a retry is no news. */
export function isMentioned({ generation, status }: ObservedGatewaySync, { request, push }: Intent): boolean {
  const { observedGeneration, lastRequest, lastPush } = status;
  const requestWaits = request === undefined || lastRequest?.outcome === 'Pending';
  const pushWaits = push === undefined || lastPush?.outcome === 'Pending';
  return observedGeneration === generation && requestWaits && pushWaits;
}

/**
 * Identifies what must not be answered from memory: a request, a push, and, where no poll keeps the memory fresh, a
 * change of the spec. Undefined where there is nothing of the kind.
 */
export function eventOf(gatewaySync: ObservedGatewaySync, intent: Intent): string | undefined {
  const { generation, spec, status } = gatewaySync;
  const { request, push } = intent;
  const change = spec.polling.enabled || status.observedGeneration === generation ? undefined : generation;
  if (request === undefined && push === undefined && change === undefined) return undefined;
  return JSON.stringify([request ?? null, push ?? null, change ?? null]);
}
