import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { createSandbox } from '../support/sandbox.ts';

test('an agent without the volume knows what another one brought there meanwhile', async (t) => {
  const server = await startGitServer();
  t.after(() => server.stop());
  const { url: repo, commit } = await server.createRepository('shared');
  const [first, second] = [await commit({ files: { a: '1' } }), await commit({ files: { a: '2' } })];
  const earlier = await createSandbox(t);
  await earlier.sync({ repo, commit: first });
  const watcher = await createSandbox(t, { shared: { data: earlier.data, podUid: 'watcher' } });
  const look = () => watcher.sync({ repo, commit: second, profile: { dryRun: true } });
  await look();
  assert.equal((await watcher.applied())?.commit, first);

  await earlier.release();
  const later = await createSandbox(t, { shared: { data: earlier.data, podUid: 'later' } });
  await later.sync({ repo, commit: second });
  await assert.rejects(earlier.sync({ repo, commit: first }), { name: 'WaitingError', code: 'data.inUse' });
  assert.equal((await earlier.applied())?.commit, second);
  await look();
  assert.equal((await watcher.applied())?.commit, second);
});
