import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { TraceView } from '../../../cli/fleet/trace.ts';
import { kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { startPath } from '../../support/start-path.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { until } from '../../support/until.ts';

test(
  'kubectl stoker sync delivers a commit to the disk, and reports the gateways without it and the reason',
  slow,
  async (t) => {
    const { address, repository, data } = await startPath(t, { 'config/a.txt': 'first' });
    const stoker = await stokerIn(address.namespace);
    const content = () => readFile(path.join(data, 'config/a.txt'), 'utf8');
    await untilGatewaySync(address, 'the first sync', ({ status }) => status?.gateways?.synced === 1);

    const second = await repository.commit({ files: { 'config/a.txt': 'second' } });
    const done = await stoker(['sync', 'app', '--wait']);
    assert.equal(done.status, 0, done.notes);
    assert.match(done.notes, new RegExp(`requested main .*\n✔ main is ${second.slice(0, 8)}: its gateway has it\n$`));
    assert.equal(await content(), 'second');
    const { status } = await untilGatewaySync(address, 'the request', (each) => each.status?.lastRequest !== undefined);
    assert.partialDeepStrictEqual(status?.lastRequest, { by: 'kubectl-stoker-refresh', outcome: 'Applied' });

    await repository.commit({ files: { 'config/a.txt': 'third' } });
    await repository.git('tag', 'v3');
    const tagged = await stoker(['sync', 'app', '--ref', 'v3', '--wait'], { columns: 80 });
    assert.equal(tagged.status, 0, tagged.notes);
    assert.equal(await content(), 'third');
    assert.match(tagged.output, /✔ all {2}█ {2}1\/1/);

    await repository.git('branch', 'other');
    const refused = await stoker(['sync', 'app', '--ref', 'other', '--wait']);
    assert.equal(refused.status, 1);
    assert.match(refused.notes, / other .*\(Ignored\): .* spec\.webhook\.allowedRefs/);

    // The controller has to query the git server by then. After a minute, the request fails.
    const missing = await stoker(['sync', 'app', '--ref', 'v9', '--wait', '--timeout', '15s']);
    assert.equal(missing.status, 1);
    assert.match(missing.notes, /error: .* v9 /);

    for (const [option = '', value = ''] of [
      ['--ref', '--upload-pack=x'],
      ['--ref', 'a..b'],
      ['--timeout', 'soon'],
    ])
      assert.equal((await stoker(['sync', 'app', option, value])).status, 64, value);
  },
);

test('kubectl stoker sync --request waits for the request of a webhook, and fails if it is ignored', async (t) => {
  const { address, repository, data, postPlain } = await startPath(t, { 'config/a.txt': 'first' });
  const stoker = await stokerIn(address.namespace);
  const waitFor = (id: string, ...more: string[]) => stoker(['sync', 'app', '--wait', '--request', id, ...more]);
  const freight = (commit: object) => ({ freight: { commits: [commit] } });
  const first = await untilGatewaySync(address, 'the first sync', ({ status }) => status?.gateways?.synced === 1);
  await repository.commit({ files: { 'config/a.txt': 'second' } });
  await repository.tag('v2');

  const promoted = await postPlain(freight({ tag: 'v2' }));
  const done = await waitFor(promoted.requestId);
  assert.equal(done.status, 0, done.notes);
  assert.match(done.notes, /✔ v2 is [0-9a-f]{8}: its gateway has it/);
  assert.equal(await readFile(path.join(data, 'config/a.txt'), 'utf8'), 'second');
  // As on the page about Kargo, for images without the plugin.
  for (const what of [
    `jsonpath={.status.lastRequest.id}=${promoted.requestId}`,
    'jsonpath={.status.lastRequest.outcome}=Applied',
    'condition=Ready',
  ])
    await kubectl('wait', 'gsync/app', '--namespace', address.namespace, `--for=${what}`, '--timeout=30s');

  const older = await postPlain(freight({ id: first.status?.lastSyncCommit, branch: 'main' }));
  const ignored = await waitFor(older.requestId);
  assert.equal(ignored.status, 1);
  assert.match(ignored.notes, /\(Ignored\): .* [0-9a-f]{40} /);

  const replaced = await waitFor(promoted.requestId);
  assert.equal(replaced.status, 1);
  assert.match(replaced.notes, /app has no request .*: a newer one replaced it/);
  assert.equal((await waitFor(older.requestId, '--ref', 'v2')).status, 64);
  const push = await postPlain({ ref: 'refs/heads/main' });
  const pushed = await waitFor(push.requestId);
  assert.equal(pushed.status, 1);
  assert.match(pushed.notes, /app has no request .*a push to a branch, which have none to wait for/);
});

test('kubectl stoker sync refuses a resource with a hub, and waits for the requests of the hub', slow, async (t) => {
  const { address, repository, postPlain } = await startPath(t, { 'config/a.txt': 'first' });
  const follower = { ...address, name: 'follower' };
  await applyGatewaySync(follower, { repo: repository.url }, { webhook: { from: 'app' } });
  await untilGatewaySync(follower, 'the first commit', ({ status }) => status?.lastSyncCommit !== undefined);
  const stoker = await stokerIn(address.namespace);
  const sync = (...line: string[]) => stoker(['sync', 'follower', ...line]);
  const refused = await sync('--ref', 'v2');
  assert.equal(refused.status, 1);
  assert.match(refused.notes, / follower .* app .* kubectl stoker sync app --ref REF /);
  await repository.commit({ files: { 'config/a.txt': 'second' } });
  await repository.tag('v2');
  const { requestId } = await postPlain({ ref: 'v2' });
  const done = await sync('--wait', '--request', requestId, '--timeout', '60s');
  assert.equal(done.status, 0, done.notes);
  assert.match(done.notes, /v2 is [0-9a-f]{8}: no gateways/);
});

test('kubectl stoker trace shows a delivery from the POST to the disk, in chronological order', slow, async (t) => {
  const { address, repository, data, post } = await startPath(t, { 'config/a.txt': 'first' });
  const stoker = await stokerIn(address.namespace);
  const lastTrace = async () =>
    JSON.parse((await stoker(['trace', 'app', '--last', '-o', 'json'])).output) as TraceView;
  await untilGatewaySync(address, 'the first sync', ({ status }) => status?.gateways?.synced === 1);
  assert.equal((await lastTrace()).delivery.kind, 'poll');

  const listens = Promise.withResolvers<void>();
  const waiting = stoker(['trace', 'app'], { note: () => listens.resolve() });
  await listens.promise;
  const commit = await repository.commit({ files: { 'config/a.txt': 'second' } });
  assert.equal(await post('push', { ref: 'refs/heads/main', after: commit }), 202);
  const { status, output } = await waiting;
  assert.equal(status, 0);
  assert.equal(await readFile(path.join(data, 'config/a.txt'), 'utf8'), 'second');
  assert.match(output, /\b0 ms .*: refs\/heads\/main/);
  assert.match(output, / ms .* gateway-0 /);

  // The controller writes an event after the status.
  const view = await until(lastTrace, {
    describe: 'the event of the end',
    accept: ({ moments }) => moments.some(({ what }) => /Ready/.test(what)),
  });
  const { kind, outcome } = view.delivery;
  assert.deepEqual([view.commit, kind, outcome, view.missing], [commit, 'push', 'Applied', []]);
});
