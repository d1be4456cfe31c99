import type { Reports } from './report/reports.ts';
import type { watchResource } from './resource/watch-resource.ts';
import type { SyncLoop } from './sync/sync-loop.ts';

export interface AgentParts {
  reports: Reports;
  reflector: ReturnType<typeof watchResource>;
  loop: SyncLoop;
}

/** Takes over the report, waits for the resource, and syncs until it is asked to stop; the last report is written then. */
export async function runAgent({ reports, reflector, loop }: AgentParts, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await Promise.race([reports.ready, aborted]);
  const watching = reflector.run(signal);
  await Promise.race([reflector.firstSync, aborted]);
  await loop.run(signal);
  await Promise.all([reports.stop(), watching]);
}
