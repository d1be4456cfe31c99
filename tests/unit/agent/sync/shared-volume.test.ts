import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasJournal, writeJournal } from '../../../../agent/volume/manifest/journal.ts';
import { slow } from '../../../support/depth.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

test('an agent without the volume knows what another agent delivered there in the meantime', slow, async (t) => {
  const { url: repo, commit } = await createLocalRepository('shared');
  const first = await commit({ files: { a: '1' } });
  const second = await commit({ files: { a: '2' } });
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

test('a dry run that undoes an interrupted sync releases the volume again', async (t) => {
  const { url: repo, commit } = await createLocalRepository('cut-off');
  const first = await commit({ files: { a: '1' } });
  const second = await commit({ files: { a: '2' } });
  const killed = await createSandbox(t);
  await killed.sync({ repo, commit: first });
  await writeJournal([], killed.root);
  const watcher = await createSandbox(t, { shared: { data: killed.data, podUid: 'watcher' } });
  const look = () => watcher.sync({ repo, commit: second, profile: { dryRun: true } });
  await assert.rejects(look(), { name: 'WaitingError', code: 'data.inUse' });
  await killed.release();
  assert.equal((await look()).kind, 'planned');
  assert.equal(hasJournal(killed.root), false);
  assert.equal((await watcher.applied())?.commit, first);
  const next = await createSandbox(t, { shared: { data: killed.data, podUid: 'next' } });
  await next.sync({ repo, commit: second });
  assert.deepEqual(await next.files(), { a: '2' });
});
