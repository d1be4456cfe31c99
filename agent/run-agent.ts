import type { Reports } from './report/reports.ts';
import type { watchResource } from './resource/watch-resource.ts';
import type { SyncLoop } from './sync/sync-loop.ts';

export interface AgentParts {
  reports: Reports;
  reflector: ReturnType<typeof watchResource>;
  loop: SyncLoop;
}

/**
 * Follows the resource and syncs until it is asked to stop; the last report is written then. Nothing waits for the API
 * server but what cannot do without it.
 */
export async function runAgent({ reports, reflector, loop }: AgentParts, signal: AbortSignal): Promise<void> {
  void reflector.firstSync.then(() => loop.onListed());
  const watching = reflector.run(signal);
  await loop.run(signal);
  await Promise.all([reports.stop(), watching]);
}
