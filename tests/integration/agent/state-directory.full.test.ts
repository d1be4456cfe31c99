import assert from 'node:assert/strict';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

test("an agent moves its files out of the gateway's directory, and reports it if the next one looks there", async (t) => {
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

  const second = await pod.start({ DATA_PATH: pod.data, DATA_DIRECTORY: 'www', STATE_DIRECTORY: 'www/state' });
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

test("an agent reports that it can't open the gateway's directory, and uses it when a user has replaced it", async (t) => {
  const repository = await server.createRepository('state-no-directory');
  const commit = await repository.commit({ files: { 'site/index.html': '1' } });
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url, {
    sync: { profiles: { default: { mappings: [{ source: 'site', destination: '.' }] } } },
  });
  await pod.settle(commit);
  const data = path.join(pod.data, 'www');
  const env = { DATA_PATH: pod.data, DATA_DIRECTORY: 'www', STATE_DIRECTORY: 'state' };
  await mkdir(path.join(pod.data, 'releases'));
  const obstacles: [RegExp, () => Promise<void>][] = [
    [/^www in the data volume leads through a symbolic link, .* subPath/, () => symlink('releases', data)],
    [/^www in the data volume isn't a directory: mount a directory/, () => writeFile(data, '')],
  ];
  for (const [message, obstruct] of obstacles) {
    await obstruct();
    const agent = await pod.start(env);
    await pod.untilReport('Error', ({ status }) => message.test(status?.message ?? ''));
    assert.equal((await fetch(`${agent.healthUrl}/healthz`)).status, 200);
    await agent.stop();
    await rm(data);
  }
  await pod.start(env);
  await pod.untilSynced(commit);
  assert.deepEqual((await readdir(data)).sort(), ['.sync-agent', 'index.html']);
});
