import assert from 'node:assert/strict';
import { readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { type InspectionView, LEFT_OUT } from '../../../cli/fleet/inspection.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { ALL, NO_GATEWAY } from '../../../shared/domain/rollout/waves.ts';
import { slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { createGatewayPod } from '../agent/support/gateway-pod.ts';
import { playRollout } from '../agent/support/play-rollout.ts';
import { applyPatch, arrange, makeKnown, spec } from './inspected-gateway.ts';

/** A report without its time. */
const saidIn = ({ status }: SyncReport) => ({ ...status, reportedAt: undefined });

const server = await shareGitServer();

suite('kubectl stoker diff', () => {
  test('shows what a branch would change, and changes nothing', slow, async (t) => {
    const { stoker, repository, commit, pod, write } = await arrange(t, server, 'diff');
    await write('etc/own.txt', 'of the gateway');
    await repository.branch('other', commit);
    const other = await repository.commit({
      branch: 'other',
      files: {
        'config/a.txt': 'one\n2\nthree\n',
        'config/new.txt': 'new\n',
        'config/own.txt': 'of the branch',
        'config/gone.txt': null,
        'config/server.key': 'another-secret',
        'rendered/name.txt': 'You are {{ .GatewayName }}, {{ .Vars.colour }}\n',
      },
    });
    const files = await pod.files();
    const report = await pod.report();
    const { status, output, notes } = await stoker('diff', 'gw', '--ref', 'other', '-o', 'json');
    assert.deepEqual([status, notes], [2, '']);
    const view = JSON.parse(output) as InspectionView;
    const [answer] = view.answers;
    assert.deepEqual([answer?.ref, answer?.commit, answer?.pod], ['other', other, 'gateway-0']);
    assert.deepEqual(
      answer?.changes.map(({ kind, path: file, reason, leftOut }) => [kind, file, reason, leftOut]).sort(),
      [
        ['add', 'etc/new.txt', 'New', undefined],
        ['delete', 'etc/gone.txt', 'NoLongerMapped', undefined],
        ['modify', 'etc/a.txt', 'ContentChanged', undefined],
        ['modify', 'etc/own.txt', 'TakenOver', LEFT_OUT.foreign],
        ['modify', 'etc/server.key', 'ContentChanged', LEFT_OUT.secret],
        ['modify', 'rendered/name.txt', 'ContentChanged', LEFT_OUT.template],
      ],
    );
    const modified = answer?.changes.find(({ path: file }) => file === 'etc/a.txt');
    assert.match(modified?.diff ?? '', /\n one\n-two\n\+2\n three\n/);
    assert.doesNotMatch(output, /secret-|another-secret|a-value|of the gateway/);
    assert.deepEqual(await pod.files(), files);
    const later = await pod.untilReport('no answer any more', (each) => each.status?.inspection === undefined);
    assert.deepEqual(saidIn(later), saidIn(report));
    assert.equal(later.status?.commit, commit);
  });
});

suite('kubectl stoker diff and drift', () => {
  test('show local changes of paused gateways until they become a patch', async (t) => {
    const world = await arrange(t, server, 'paused');
    const { pod, repository, stoker, write } = world;
    await pod.setSpec(repository.url, { ...spec({ drift: 'repair', syncPeriod: 5 }), paused: true });
    await pod.untilReport('the pause', ({ status }) => status?.state === 'Paused');
    await write('etc/a.txt', 'changed by hand\n');
    const clone = await applyPatch(t, world, (await stoker('drift', 'gw', '--patch')).output);
    assert.equal(await readFile(path.join(clone, 'config/a.txt'), 'utf8'), 'changed by hand\n');
    assert.equal((await stoker('diff', 'gw')).status, 2);
    assert.equal((await pod.files())['etc/a.txt'], 'changed by hand\n');
  });

  test("show the changes that waves don't admit yet, and don't deliver them", async (t) => {
    const repository = await server.createRepository('waves');
    const first = await repository.commit({ files: { 'config/a.txt': '1\n' } });
    const second = await repository.commit({ files: { 'config/a.txt': '2\n' } });
    const pod = await createGatewayPod(t);
    const play = playRollout(pod);
    const waves = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }];
    await pod.setSpec(repository.url, { rollout: { waves } });
    const revision = await play.revision();
    const releases = { commit: second, revision, stableCommit: first, stableRevision: revision };
    const admitted = { canary: ALL, rest: NO_GATEWAY };
    await play.roll({ number: 2, phase: 'Progressing', ...releases, admitted });
    await pod.start(await play.label());
    const before = await pod.untilSynced(first);
    const refs = () => runCommand('git', [`--git-dir=${pod.repo}`, 'for-each-ref']);
    const refsBefore = await refs();

    await makeKnown(pod);
    const stoker = await stokerIn(pod.namespace);
    const { status, output, notes } = await stoker(['diff', 'gw', '--ref', second]);
    assert.equal(status, 2, notes);
    assert.match(output, /would change 1 file\n[\s\S]*-1\n\+2\n/);
    const later = await pod.untilReport('no answer any more', (each) => each.status?.inspection === undefined);
    assert.deepEqual(saidIn(later), saidIn(before));
    assert.deepEqual(await pod.files(), { 'config/a.txt': '1\n' });
    assert.equal(await refs(), refsBefore);
  });

  test('report a missing git server, and still show drift', slow, async (t) => {
    const { pod, repository, stoker, write, commit } = await arrange(t, server, 'gone');
    await rename(repository.path, `${repository.path}.gone`);
    await write('etc/a.txt', 'changed\n');
    const diff = await stoker('diff', 'gw', '--ref', 'other');
    assert.equal(diff.status, 1);
    assert.match(diff.output, /gateway-0: .*(not found|no such|cannot|does not)/i);
    const same = await stoker('diff', 'gw', '--gateway', 'gateway-0');
    assert.deepEqual([same.status, same.notes], [0, '']);
    assert.match(same.output, new RegExp(`main \\(${commit.slice(0, 8)}\\) would change nothing`));
    const drift = await stoker('drift', 'gw');
    assert.match(drift.output, /\n\+changed\n/);
    assert.equal((await pod.report()).status?.state, 'Synced');
    const unknown = await stoker('diff', 'gw', '--gateway', 'other');
    assert.match(unknown.notes, /gw has no gateway other/);
  });
});
