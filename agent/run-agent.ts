import type { Reports } from './report/reports.ts';
import type { watchResource } from './resource/watch-resource.ts';
import type { SyncLoop } from './sync/sync-loop.ts';

export interface AgentParts {
  reports: Reports;
  reflector: ReturnType<typeof watchResource>;
  loop: SyncLoop;
}

/** Labels may change while the resource does not; the kubelet takes about a minute to write them. */
const RECONSIDER_MS = 15_000;

/**
 * Follows the resource and syncs until it is asked to stop; the last report is written then. Nothing waits for the API
 * server but what cannot do without it.
 */
export async function runAgent({ reports, reflector, loop }: AgentParts, signal: AbortSignal): Promise<void> {
  void reflector.firstSync.then(() => loop.onListed());
  const watching = reflector.run(signal);
  const reconsidering = setInterval(() => loop.reconsider(), RECONSIDER_MS);
  await loop.run(signal);
  clearInterval(reconsidering);
  await Promise.all([reports.stop(), watching]);
}
