import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { shareGitServer } from '../../support/git-server-for.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

const server = await shareGitServer();

test('an agent whose annotation was added lets the gateway start, and reports the commands that move its files', async (t) => {
  const repository = await server.createRepository('state-directory');
  const commit = await repository.commit({ files: { 'site/index.html': '1', 'site/old.html': '1' } });
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url, {
    sync: { profiles: { default: { mappings: [{ source: 'site', destination: 'site', publish: 'atomic' }] } } },
  });
  await pod.settle(commit);
  const usual = { DATA_PATH: path.join(pod.data, 'www') };
  await mkdir(usual.DATA_PATH);
  const first = await pod.start(usual);
  await pod.untilSynced(commit);
  await first.stop();

  const elsewhere = { DATA_PATH: pod.data, DATA_DIRECTORY: 'www', STATE_DIRECTORY: 'www/state' };
  const refused = await pod.start(elsewhere);
  const { status } = await pod.untilReport('the reason', (report) => report.status?.reason === 'VolumeUnusable');
  assert.equal((await fetch(`${refused.healthUrl}/readyz`)).status, 200);
  await refused.stop();
  const { message = '' } = status ?? {};
  execFileSync('sh', ['-ec', message.slice(message.indexOf(': test ') + 2)], { cwd: pod.data });
  const second = await pod.start(elsewhere);
  const next = await repository.commit({ files: { 'site/old.html': null } });
  await pod.settle(next);
  await pod.untilSynced(next);
  assert.deepEqual(await readdir(path.join(pod.data, 'www/site')), ['index.html']);
  await second.stop();

  const third = await pod.start(usual);
  await pod.untilReport('Error', ({ status }) =>
    /set the pod annotation sync\.io\/state-directory to www\/state/.test(status?.message ?? ''),
  );
  assert.equal((await fetch(`${third.healthUrl}/healthz`)).status, 200);
  assert.deepEqual(await readdir(path.join(pod.data, 'www/site')), ['index.html']);
});
