import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AgentPod } from '../../../cli/fleet/agent-state.ts';
import {
  type Askable,
  answerView,
  askableGateways,
  chooseGateways,
  type InspectionView,
  LEFT_OUT,
  repositoryPatch,
  SharedAnswers,
  UNPATCHED,
} from '../../../cli/fleet/inspection.ts';
import { drawInspection } from '../../../cli/views/draw-inspection.ts';
import type { Answer, InspectedChange } from '../../../shared/api/inspection.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import { gatewaySyncOf, syncReportOf } from '../../support/objects.ts';
import { hostOf } from './host-of.ts';

const COMMIT = 'c0ffee11'.repeat(5);

const gatewaySync = gatewaySyncOf({
  metadata: { namespace: 'ns' },
  status: {
    discoveredGateways: [
      { name: 'a', namespace: 'ns', podName: 'a-0', syncStatus: 'Synced', profile: 'p' },
      { name: 'b', namespace: 'ns', podName: 'b-0', syncStatus: 'MissingSidecar' },
      { name: 'c', namespace: 'ns', podName: 'c-0', syncStatus: 'Pending' },
      { name: 'd', namespace: 'ns', podName: 'd-0', syncStatus: 'Synced' },
    ],
  },
});

const reportOf = (pod: string, fields: Partial<SyncReportStatus> = {}, namespace = 'ns') =>
  syncReportOf({
    metadata: { name: pod, namespace },
    status: { gateway: pod.split('-')[0], crName: 'plant', state: 'Synced', ...fields },
  });

suite('the gateways that are queried', () => {
  test("are those that the status shows; some can't answer", () => {
    const reports = [
      reportOf('a-0'),
      reportOf('d-0'),
      reportOf('f-0', { crName: 'other' }),
      reportOf('g-0', {}, 'else'),
    ];
    const asked = askableGateways(gatewaySync, { reports });
    const facts = [/^$/, / sidecar\b/, / agent /, /^$/];
    assert.deepEqual(
      asked.map(({ pod }) => pod),
      ['a-0', 'b-0', 'c-0', 'd-0'],
    );
    for (const [n, fact] of facts.entries()) assert.match(asked[n]?.unable ?? '', fact);
    assert.ok(asked[1]?.waitsFor);
    assert.equal(asked[2]?.waitsFor, asked[2]?.unable);
    const [unheard] = askableGateways(gatewaySync, {});
    assert.match(unheard?.unable ?? '', /agent/);
  });

  test('are only those with a running agent, and others are listed with the reason', () => {
    const agentPods = new Map<string, AgentPod>([
      ['a-0', { agent: {} }],
      ['c-0', { isBeingDeleted: true, agent: {} }],
      ['d-0', { agent: { waiting: { reason: 'CrashLoopBackOff' } } }],
    ]);
    const reports = [...agentPods.keys()].map((pod) => reportOf(pod));
    const found = askableGateways(gatewaySync, { reports }, agentPods).filter(({ pod }) => agentPods.has(pod));
    assert.equal(found[0]?.unable, undefined);
    assert.match(found[1]?.unable ?? '', /deleted/);
    assert.match(found[2]?.unable ?? '', /CrashLoopBackOff/);
  });

  test('are one of each profile and wave, unless the user chooses', () => {
    const fleet = (count: number): Askable[] =>
      Array.from({ length: count }, (_, index) => ({
        name: `g${index}`,
        pod: `g${index}-0`,
        status: 'Synced',
        profile: index % 2 ? 'line' : 'till',
        wave: index < 10 ? 'canary' : 'rest',
        ...(index < 2 && { unable: 'old' }),
      }));
    const unspecified = { gateway: undefined, isAll: false };
    const few = fleet(12).slice(9);
    assert.deepEqual(chooseGateways(few, unspecified), { gateways: few, isSample: false });
    const sample = chooseGateways(fleet(1_000), unspecified);
    assert.deepEqual(
      sample.gateways.map(({ name }) => name),
      ['g2', 'g3', 'g10', 'g11'],
    );
    assert.ok(sample.isSample);
    const all = fleet(1_000);
    assert.deepEqual(chooseGateways(all, { ...unspecified, isAll: true }), { gateways: all, isSample: false });
    for (const gateway of ['g7', 'g7-0'])
      assert.deepEqual(chooseGateways(all, { gateway, isAll: false }), { gateways: [all[7]], isSample: false });
  });
});

const version = (text: string) => ({ text, executable: false });
const change = (fields: Partial<InspectedChange> = {}): InspectedChange => ({
  path: 'etc/a',
  source: 'config/a',
  kind: 'modify',
  reason: 'Drifted',
  before: version('1\n'),
  after: version('2\n'),
  ...fields,
});
const answer = (...changes: InspectedChange[]): Answer => ({ ref: 'main', commit: COMMIT, changes, more: 0 });
const patchOf = (answers: Record<string, Answer>, withDeleted = false) =>
  repositoryPatch(
    Object.entries(answers).map(([name, each]) => ({ name, answer: each })),
    { withDeleted },
  );
const isRefused = (answers: Record<string, Answer>, why: string, path = 'config/a') =>
  assert.deepEqual(patchOf(answers), { text: '', refused: [{ path, why }] });

suite('a patch for the repository', () => {
  test("contains common changes of the gateways once, with the repository's paths", () => {
    const { text, refused } = patchOf({ a: answer(change()), b: answer(change({ path: 'elsewhere/a' })) });
    assert.deepEqual(refused, []);
    assert.equal(text.match(/^diff --git a\/config\/a b\/config\/a$/gm)?.length, 1);
    assert.doesNotMatch(text, /etc|elsewhere/);
  });

  test('contains nothing that gateways disagree on', () => {
    const other = change({ after: version('3\n') });
    const answers = { a: answer(change()), b: answer(other), c: answer(change()) };
    isRefused(answers, UNPATCHED.disputed('a', 'b'));
  });

  test('contains nothing that the copies of a file on one gateway disagree on', () => {
    const copy = { path: 'etc/b', after: version('3\n') };
    isRefused({ a: answer(change(), change(copy)) }, UNPATCHED.copies('a'));
    const same = patchOf({ a: answer(change(), change({ path: 'etc/b' })) });
    assert.equal(same.text.match(/^diff/gm)?.length, 1);
  });

  test('deletes files only if requested', () => {
    const { after: _, ...gone } = change({ kind: 'delete', reason: 'Missing' });
    isRefused({ a: answer(gone) }, `${UNPATCHED.deleted} (a)`);
  });

  test('never contains a mode that a mapping sets', () => {
    const moded = { before: { ...version('1\n'), mode: 0o444 }, after: { text: '1\n', executable: true, mode: 0o744 } };
    isRefused({ a: answer(change(moded)) }, `${UNPATCHED.mode} (a)`);
    const changed = { ...moded, after: { ...moded.after, text: '2\n' } };
    assert.deepEqual(patchOf({ a: answer(change(changed)) }), patchOf({ a: answer(change()) }));
    const { after: _, ...gone } = change({ ...moded, kind: 'delete' });
    assert.match(patchOf({ a: answer(gone) }, true).text, /^deleted file mode 100644$/m);
  });

  test('never changes files outside the repository', () => {
    for (const source of ['../x', '/etc/x', 'a/../../x', '.git/hooks/pre-commit', 'a//b', ''])
      isRefused({ a: answer(change({ source })) }, `${UNPATCHED.outside} (a)`, source);
  });

  test('contains only delivered files', () => {
    const { before: _, ...added } = change({ source: '.github/workflows/x.yml', kind: 'add' });
    const { text, refused } = patchOf({ a: answer(added) }, true);
    assert.equal(text, '');
    assert.match(refused[0]?.why ?? '', / \(a\)$/);
  });

  test('contains agreed changes next to disputed ones, in the order of the responses', () => {
    const first = change({ source: 'b' });
    const last = change({ source: 'a' });
    const other = change({ after: version('3\n') });
    const answers = { a: answer(first, change()), b: answer(other, last), c: answer(other) };
    const { text, refused } = patchOf(answers);
    assert.deepEqual(text.match(/^\+\+\+ .*$/gm), ['+++ b/b', '+++ b/a']);
    assert.match(refused[0]?.why ?? '', / a .* b, c: /);
  });

  test('lists a file from elsewhere with its path on the gateway', () => {
    const own = omit(change(), 'source');
    assert.match(patchOf({ a: answer(own) }).text, /^diff --git a\/etc\/a b\/etc\/a$/m);
  });

  test('identifies files by the IDs of the repository', () => {
    const idsIn = (commit: string) => /^index (\w+)/m.exec(patchOf({ a: { ...answer(change()), commit } }).text)?.[1];
    assert.deepEqual([idsIn(COMMIT)?.length, idsIn('c0ffee11'.repeat(8))?.length], [40, 64]);
  });

  const { before, after, ...bare } = change();
  const unknown = { executable: false };
  const without: [what: string, InspectedChange][] = [
    ['before the change', { ...bare, before: unknown, ...(after && { after }) }],
    ['after the change', { ...bare, after: unknown, ...(before && { before }) }],
    ['before the change, like its existence', { ...bare, ...(after && { after }) }],
    ['after the change, like its existence', { ...bare, ...(before && { before }) }],
  ];
  for (const [what, given] of without) {
    test(`leaves out a file whose content is unknown ${what}`, () => {
      isRefused({ a: answer(given) }, `${LEFT_OUT.limit} (a)`);
      assert.equal(answerView({ name: 'a', pod: 'a' }, answer(given)).changes[0]?.diff, undefined);
    });
  }

  test('lists the reason why a file has no content', () => {
    const given = answer(change({ leftOut: 'large' }));
    const why = 'larger than 64 KiB';
    isRefused({ a: given }, `${why} (a)`);
    const listed = { ...omit(change(), 'before', 'after'), leftOut: why };
    assert.deepEqual(answerView({ name: 'a', pod: 'a-0' }, given).changes, [listed]);
  });
});

const viewOf = (answers: Record<string, Answer>): InspectionView => ({
  namespace: 'ns',
  name: 'plant',
  kind: 'diff',
  ref: 'main',
  total: 3,
  silent: [],
  answers: Object.entries(answers).map(([name, each]) => answerView({ name, pod: name }, each)),
});

suite('the output of diff and drift', () => {
  test('is shown once for all gateways with the same response', () => {
    const shared = new SharedAnswers();
    const [a, b, c] = [answer(change()), answer(change()), answer(change({ path: 'etc/b' }))].map((each, index) =>
      shared.take({ name: `g${index}`, pod: `g${index}-0` }, each),
    );
    assert.equal(b?.answer, a?.answer);
    assert.equal(b?.view.changes, a?.view.changes);
    assert.notEqual(c?.answer, a?.answer);
    assert.deepEqual([a?.view.gateway, b?.view.gateway, b?.view.pod], ['g0', 'g1', 'g1-0']);
    assert.deepEqual(b?.view, answerView({ name: 'g1', pod: 'g1-0' }, answer(change())));
  });

  test('contains the whole response', () => {
    const own = omit(change(), 'source');
    const { changes, ...view } = answerView({ name: 'a', pod: 'a-0' }, { ...answer(own), problem: 'p', more: 3 });
    assert.deepEqual(view, { gateway: 'a', pod: 'a-0', ref: 'main', commit: COMMIT, problem: 'p', more: 3 });
    const [{ diff = '', ...shown } = {}, ...others] = changes;
    assert.deepEqual([shown, others], [omit(own, 'before', 'after'), []]);
    assert.match(diff, /^diff --git a\/etc\/a b\/etc\/a\n/);
  });

  test('shows the change of a mode that a mapping sets, even if the content is hidden', () => {
    const sides = { before: { executable: false, mode: 0o644 }, after: { executable: false, mode: 0o4600 } };
    const hidden = answer(change({ ...sides, reason: 'ModeChanged', leftOut: 'secret' }));
    const lines = drawInspection(viewOf({ a: hidden }), hostOf(undefined)).join('\n');
    assert.match(lines, /^~ +etc\/a +config\/a +ModeChanged \(0644 -> 4600\) +.* secret$/m);
  });

  test('contains no terminal control characters, and keeps the spaces of a line', () => {
    const hostile = change({ path: 'a\u001b[2J', after: version('\t  x\u001b]0;title\u0007\u202e\n') });
    const answers = { 'g\u001b[31m': { ...answer(hostile), ref: 'r\u009b' }, b: { ...answer(), problem: '\u001bc' } };
    const text = drawInspection(viewOf(answers), hostOf(80)).join('\n');
    for (const obeyed of ['\u001b', '\u0007', '\u202e', '\u009b']) assert.ok(!text.includes(obeyed));
    assert.match(text, /\n\+\t {2}x/);
  });

  test('has a line for each file, and then the available content', () => {
    const added = omit(change({ path: 'etc/b', source: 'etc/b', kind: 'add', reason: 'Added' }), 'before');
    const gone = omit(change({ path: 'etc/c', kind: 'delete', reason: 'Removed', leftOut: 'binary' }), 'after');
    const answered = { ...answer(added, gone, change({ path: 'etc/d' })), more: 2 };
    const lines = drawInspection(viewOf({ a: answered }), hostOf(undefined)).map((line) => line.trimEnd());
    assert.deepEqual(lines.slice(0, 8), [
      'a: main (c0ffee11) would change 5 files',
      '',
      '    FILE    IN GIT     WHY       NO CONTENT',
      '+   etc/b              Added',
      '-   etc/c   config/a   Removed   binary',
      '~   etc/d   config/a   Drifted',
      'and 2 more',
      '',
    ]);
    assert.deepEqual(
      lines.filter((line) => line.startsWith('diff --git')),
      ['diff --git a/etc/b b/etc/b', 'diff --git a/etc/d b/etc/d'],
    );
  });

  test('lists at most five gateways, with the pod if its name differs', () => {
    const leadOf = (names: string[]) => {
      const answers = names.map((name) => answerView({ name, pod: name === 'b' ? 'b-0' : name }, answer()));
      return drawInspection({ ...viewOf({}), answers }, hostOf(undefined))[0];
    };
    assert.match(leadOf([...'abcde']) ?? '', /^a, b \(b-0\), c, d, e: main \(c0ffee11\) /);
    assert.match(leadOf([...'abcdef']) ?? '', /^a, b \(b-0\), c, d, e and 1 more: main \(c0ffee11\) /);
  });

  test('contains the base of the comparison', () => {
    const said = (kind: InspectionView['kind'], fields: Partial<Answer>) =>
      drawInspection({ ...viewOf({ a: { ...answer(), ...fields } }), kind }, hostOf(undefined))[0];
    assert.match(said('drift', {}) ?? '', /^a: \D* main \(c0ffee11\)$/);
    assert.match(said('drift', { more: 1 }) ?? '', /^a: 1 .* main \(c0ffee11\)$/);
    assert.match(said('diff', { more: 2 }) ?? '', /^a: main \(c0ffee11\) .* 2 /);
    assert.equal(said('diff', { problem: 'no disk' }), 'a: no disk');
    const unknown = omit(answer(), 'commit', 'ref');
    assert.match(drawInspection(viewOf({ a: unknown as Answer }), hostOf(undefined))[0] ?? '', /^a: [^()]*$/);
  });
});
