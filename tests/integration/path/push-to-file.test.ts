import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { type ProgramName, startPath, type WholePath } from '../../support/start-path.ts';
import { until } from '../../support/until.ts';

const files = { 'config/a.txt': 'first', 'config/b.txt': 'stays' };

const untilContent = ({ data, running }: WholePath, content: string) =>
  until(() => readFile(path.join(data, 'config/a.txt'), 'utf8'), {
    describe: 'the file',
    accept: (text) => text === content,
  }).catch((error: Error) => {
    throw new Error(
      `${error.message}\n${Object.entries(running)
        .map(([name, { output }]) => `--- ${name}\n${output.slice(-3_000)}`)
        .join('\n')}`,
    );
  });

test('a pushed commit reaches the disk, and the status reports it', async (t) => {
  const world = await startPath(t, files);
  await untilContent(world, 'first');
  const commit = await world.repository.commit({ files: { 'config/a.txt': 'second' } });
  assert.equal(await world.post('push', { ref: 'refs/heads/main' }), 202);
  await untilContent(world, 'second');
  const ready = await untilGatewaySync(
    world.address,
    'ready',
    (resource) => resource.status?.lastSyncCommit === commit && condition(resource, 'Ready')?.status === 'True',
  );
  assert.equal(ready.status?.gateways?.summary, '1/1 synced');
  assert.deepEqual((await readdir(path.join(world.data, 'config'))).sort(), ['a.txt', 'b.txt']);
  const report = await callApi<SyncReport>({ path: syncReportPath(world.address.namespace, 'gateway-0') });
  assert.equal(report.status?.commit, commit);
  assert.deepEqual(report.status?.files, { added: 0, modified: 1, deleted: 0, unchanged: 1 });
});

test('the content arrives even if a program is killed on the way, and again before the next push', slow, async (t) => {
  const world = await startPath(t, files);
  await untilContent(world, 'first');
  const commit = (content: string) => world.repository.commit({ files: { 'config/a.txt': content } });
  const push = async () => assert.equal(await world.post('push', { ref: 'refs/heads/main' }), 202);
  for (const victim of ['receiver', 'controller', 'agent'] satisfies ProgramName[]) {
    await commit(`${victim}, during`);
    await push();
    await world.running[victim].kill();
    await world.start[victim]();
    await untilContent(world, `${victim}, during`);

    await world.running[victim].kill();
    await commit(`${victim}, before`);
    if (victim !== 'receiver') await push();
    await world.start[victim]();
    if (victim === 'receiver') await push();
    await untilContent(world, `${victim}, before`);
  }
});
