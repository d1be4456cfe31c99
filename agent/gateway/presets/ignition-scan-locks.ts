import { messageOf } from '../../../shared/domain/text/message-of.ts';
import { codeOf } from '../../../shared/errors.ts';
import { requestScans, send } from './ignition-api.ts';
import type { PresetScope } from './preset.ts';

const KINDS = ['config', 'projects'] as const;
/** Time for which the gateway waits for a lock that another client holds, and for which it holds one (s). */
const ACQUIRE_S = 10;
const HOLD_S = 60;
/** Longer than the gateway waits (ms). */
const TIMEOUT_MS = 15_000;

/**
 * Locks the scans of projects and of the configuration, so that a scheduled scan reads no half-written resources. A lock
 * ends with the next scan that anyone requests, or after a minute.
 */
export async function holdScans({ client, log, signal }: PresetScope): Promise<string | undefined> {
  const scope = { client, log, timeoutMs: TIMEOUT_MS };
  const results = await Promise.allSettled(KINDS.map((kind) => lock(kind, { ...scope, signal })));
  if (signal?.aborted) {
    if (results.some(({ status }) => status === 'fulfilled')) void requestScans(scope).catch(() => {});
    throw signal.reason;
  }
  for (const result of results) {
    // A gateway that doesn't run reads nothing.
    if (result.status === 'rejected' && codeOf(result.reason) !== 'gateway.down')
      return `the gateway could read files while they changed, because it locked no scans: ${messageOf(result.reason)}`;
  }
  return undefined;
}

async function lock(kind: (typeof KINDS)[number], scope: PresetScope): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ acquireTimeout: ACQUIRE_S, holdTimeout: HOLD_S });
  await send({ method: 'POST', path: `/scan-lock/${kind}`, headers, body }, scope);
}
