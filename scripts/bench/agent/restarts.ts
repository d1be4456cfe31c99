import { setTimeout as sleep } from 'node:timers/promises';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { quantile } from '../table.ts';
import { filesOf } from './sample-files.ts';
import { untilApplied } from './until-applied.ts';
import { createResource, NAMESPACE, settle, startAgent, type World } from './world.ts';

/** How soon new pods on a volume with the right files are ready while the git server is down, process start included. */
export async function measureRestarts(
  world: World,
  count: number,
  times: number,
): Promise<[what: string, measured: string, aim: string][]> {
  const name = 'restart';
  const repository = await world.server.createRepository(name);
  const commit = await repository.commit({ files: filesOf(count) });
  await createResource(world, name, repository.url);
  await settle(world, name, commit);
  const first = await startAgent(world, name, `${name}-first`);
  await untilApplied(first, commit);
  await first.program.stop();
  world.server.fault = { status: 503 };
  const seconds: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const pod = `${name}-${time}`;
    const started = performance.now();
    const { program } = await startAgent(world, name, pod, first.data);
    await untilSynced(world, pod, commit);
    seconds.push((performance.now() - started) / 1000);
    await program.stop();
  }
  world.server.fault = undefined;
  const span = `${quantile(seconds, 0.5).toFixed(2)} (${Math.min(...seconds).toFixed(2)} to ${Math.max(...seconds).toFixed(2)})`;
  return [[`${count} files: restart without a git server, in seconds`, span, '≤ 2']];
}

async function untilSynced({ client }: World, pod: string, commit: string): Promise<void> {
  for (;;) {
    const report = await client.get<SyncReport>(syncReportPath(NAMESPACE, pod)).catch(() => undefined);
    if (report?.status?.state === 'Synced' && report.status.commit === commit) return;
    await sleep(20);
  }
}
