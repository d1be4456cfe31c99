import { messageOf } from '../../../shared/domain/text/message-of.ts';
import { codeOf } from '../../../shared/errors.ts';
import { requestScans, send } from './ignition-api.ts';
import type { Hold, PresetScope } from './preset.ts';

const KINDS = ['config', 'projects'] as const;
/** Time for which the gateway waits for a lock that another client holds, and for which it holds one (s). */
const ACQUIRE_S = 10;
const HOLD_S = 60;
/** Longer than the gateway waits (ms). */
const TIMEOUT_MS = 15_000;
const RENEWAL_MS = (HOLD_S - ACQUIRE_S / 2) * 1_000;
const RETRY_MS = 1_000;

/**
 * Locks the scans of projects and of the configuration, so that a scheduled scan reads no half-written resources. A lock
 * ends with the next scan that anyone requests, or a minute after the result is disposed of.
 *
 * The API doesn't say whether a holder can prolong its lock: 409 means that it is held. So the agent requests each lock
 * again shortly before it ends, and then every second, which gives it the lock at its end at the latest. A lock that was
 * refused at first is treated alike.
 */
export async function holdScans({ client, log, signal }: PresetScope): Promise<Hold> {
  const ending = new AbortController();
  const scope = { client, log, timeoutMs: TIMEOUT_MS };
  const tries = KINDS.map(async (kind) => {
    const begun = performance.now();
    await lock(kind, { ...scope, signal });
    return begun + RENEWAL_MS;
  });
  const results = await Promise.allSettled(tries);
  if (signal?.aborted) {
    if (results.some(({ status }) => status === 'fulfilled')) void requestScans(scope).catch(() => {});
    throw signal.reason;
  }
  let note: string | undefined;
  for (const [index, result] of results.entries()) {
    const waitMs = result.status === 'fulfilled' ? result.value - performance.now() : RETRY_MS;
    lockAfter(waitMs, KINDS[index] as (typeof KINDS)[number], { ...scope, signal: ending.signal });
    // A gateway that doesn't run reads nothing.
    if (result.status === 'rejected' && codeOf(result.reason) !== 'gateway.down') note ??= messageOf(result.reason);
  }
  return {
    ...(note && { note: `the gateway could read files while they changed, because it locked no scans: ${note}` }),
    [Symbol.dispose]: () => ending.abort(),
  };
}

/** Requests a lock after a time, and so on until the signal aborts. */
function lockAfter(waitMs: number, kind: (typeof KINDS)[number], scope: PresetScope & { signal: AbortSignal }): void {
  const { signal } = scope;
  const request = async () => {
    if (signal.aborted) return;
    const begun = performance.now();
    const isLocked = await lock(kind, scope).then(
      () => true,
      () => false,
    );
    lockAfter(isLocked ? begun + RENEWAL_MS - performance.now() : RETRY_MS, kind, scope);
  };
  if (!signal.aborted) setTimeout(request, waitMs).unref();
}

async function lock(kind: (typeof KINDS)[number], scope: PresetScope): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ acquireTimeout: ACQUIRE_S, holdTimeout: HOLD_S });
  await send({ method: 'POST', path: `/scan-lock/${kind}`, headers, body }, scope);
}
