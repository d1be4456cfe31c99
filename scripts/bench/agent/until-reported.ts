import { setTimeout as sleep } from 'node:timers/promises';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { NAMESPACE, type World } from '../support/world.ts';

/** Waits until the report of an agent's pod shows the commit as delivered, which ends the sync. */
export async function untilReported({ client }: World, pod: string, commit: string): Promise<void> {
  for (;;) {
    const report = await client.get<SyncReport>(syncReportPath(NAMESPACE, pod)).catch(() => undefined);
    if (report?.status?.state === 'Synced' && report.status.commit === commit) return;
    await sleep(20);
  }
}
