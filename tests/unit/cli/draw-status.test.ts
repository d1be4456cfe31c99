import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { FleetView, ResourceView } from '../../../cli/fleet/fleet.ts';
import type { GatewayView } from '../../../cli/fleet/gateway.ts';
import type { Look } from '../../../cli/terminal/bars.ts';
import { inkFor } from '../../../cli/terminal/ink.ts';
import { widthOf } from '../../../cli/terminal/text.ts';
import { drawFleet, drawResource } from '../../../cli/views/draw-status.ts';
import { hostOf as terminalOf } from './host-of.ts';

const COMMIT = 'c0ffee11'.repeat(5);
const gateways = (count: number, look: Look) =>
  Array.from({ length: count }, (_, index) => ({ name: `till-${index}`, pod: `till-${index}-0`, look }));

const view: ResourceView = {
  namespace: 'gateways',
  name: 'plant',
  state: 'busy',
  reason: 'RolloutProgressing',
  says: 'the wave canary waits for till-0, since 2026-01-01T00:00:00Z',
  repo: 'https://git.example.com/plant/config.git',
  ref: 'main',
  source: 'Spec',
  commit: COMMIT,
  resolvedAt: '2026-01-01T00:00:00Z',
  basis: { from: 'reports', shown: 1000, total: 1000 },
  counts: { total: 1000, synced: 999, pending: 1, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 },
  rollout: {
    number: 1,
    phase: 'Progressing',
    summary: 'canary 0/1',
    commit: COMMIT,
    stableCommit: COMMIT,
    message: 'the wave canary waits for till-0',
    startedAt: '2026-01-01T00:00:00Z',
    waves: [
      { name: 'canary', state: 'underWay', gateways: gateways(1, 'onItsWay') },
      {
        name: 'a-wave-with-a-name-as-long-as-one-may-be'.padEnd(63, 'x'),
        state: 'waiting',
        gateways: gateways(999, 'old'),
      },
    ],
  },
  gateways: [
    {
      name: 'till-0',
      pod: 'till-0-0',
      wave: 'canary',
      status: 'Pending',
      commit: COMMIT,
      syncedAt: '2026-01-01T00:00:00Z',
      took: '1.2s',
      waitsFor: 'its agent has not reported the latest change yet',
    },
  ],
};

const hostOf = (columns: number | undefined) => terminalOf(columns, { now: () => Date.parse('2026-01-01T00:05:00Z') });

test('a rollout of a thousand gateways fits into every terminal, with the same text in each', () => {
  for (const columns of [40, 60, 80, 200]) {
    const host = hostOf(columns);
    const fleet = { items: [view], totals: { resources: 1, ready: 0, gateways: 1000, synced: 999 } };
    for (const lines of [drawResource(view, host), drawFleet(fleet, { host, isEverywhere: true })]) {
      for (const line of lines) assert.ok(widthOf(line) <= columns, `${columns}: ${line}`);
      assert.match(lines.join(' ').replaceAll(/\s+/g, ''), /itsagenthasnotreportedthelatestchangeyet/);
    }
  }
});

test('a rollout has a shape for each gateway, in a pipe and on a terminal', () => {
  const lines = drawResource(view, hostOf(undefined));
  assert.ok(
    lines.some((line) => /▶ canary +▒ {2}0\/1, 1 updating$/.test(line)),
    lines.join('\n'),
  );
  assert.ok(lines.includes('and 999 more, which the status counts but does not list'));
  assert.ok(lines.includes('  commit     '.concat(COMMIT, ', 5m ago')));
});

const none = { total: 0, synced: 0, pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 };
const plain: ResourceView = {
  namespace: 'gateways',
  name: 'press',
  state: 'ready',
  reason: 'Synced',
  says: 'all 2 gateways have it',
  repo: 'https://git.example.com/press.git',
  ref: 'main',
  basis: { from: 'reports', shown: 2, total: 2 },
  counts: { ...none, total: 2, synced: 2 },
  gateways: [],
};
const named = (name: string, status: GatewayView['status'], more: Partial<GatewayView> = {}): GatewayView => ({
  name,
  pod: `${name}-0`,
  status,
  ...more,
});
const at = (minute: number) => `2026-01-01T00:0${minute}:00Z`;
/** Removes trailing spaces. */
const textOf = (lines: string[]) => lines.map((line) => line.trimEnd());

suite('kubectl stoker status shows a fleet', () => {
  const failed: ResourceView = {
    ...plain,
    namespace: 'ovens',
    name: 'oven',
    state: 'failed',
    says: 'no such ref',
    commit: COMMIT,
    rollout: view.rollout as NonNullable<ResourceView['rollout']>,
    counts: { ...none, total: 9, error: 9 },
    gateways: [
      named('well', 'Synced', { waitsFor: 'nothing that matters' }),
      named('quiet', 'Pending'),
      named('same', 'Paused', { pod: 'same', waitsFor: 'somebody' }),
      ...Array.from({ length: 6 }, (_, index) => named(`e${index}`, 'Error', { commit: COMMIT, waitsFor: 'a disk' })),
    ],
  };
  const fleet: FleetView = {
    items: [plain, failed],
    totals: { resources: 2, ready: 1, gateways: 11, synced: 2 },
  };

  test('with a line for each resource, and up to five waiting gateways of each', () => {
    assert.deepEqual(textOf(drawFleet(fleet, { host: hostOf(undefined), isEverywhere: true })), [
      '    NAMESPACE   NAME    REF    COMMIT     GATEWAYS   ROLLOUT      MESSAGE',
      '✔   gateways    press   main              2/2                     all 2 gateways have it',
      '✘   ovens       oven    main   c0ffee11   0/9        canary 0/1   no such ref',
      '',
      'GATEWAYSYNC   GATEWAY   POD    STATUS   COMMIT     WAITS FOR',
      'ovens/oven    e0        e0-0   Error    c0ffee11   a disk',
      'ovens/oven    e1        e1-0   Error    c0ffee11   a disk',
      'ovens/oven    e2        e2-0   Error    c0ffee11   a disk',
      'ovens/oven    e3        e3-0   Error    c0ffee11   a disk',
      'ovens/oven    e4        e4-0   Error    c0ffee11   a disk',
      '',
      '1 of 2 ready, 2 of 11 gateways in sync',
    ]);
  });

  test('without the namespace if there is only one, and without gateways if none is waiting', () => {
    const items = [plain];
    assert.deepEqual(textOf(drawFleet({ ...fleet, items }, { host: hostOf(undefined), isEverywhere: false })), [
      '    NAME    REF    GATEWAYS   MESSAGE',
      '✔   press   main   2/2        all 2 gateways have it',
      '',
      '1 of 2 ready, 2 of 11 gateways in sync',
    ]);
  });

  test('in colors, with failures in red', () => {
    const ink = inkFor(true);
    const host = { ...hostOf(undefined), hasColours: true };
    const [, ready = '', broken = ''] = drawFleet(fleet, { host, isEverywhere: false });
    assert.ok(ready.startsWith(ink('green', '✔')) && ready.includes(ink('dim', plain.says)), ready);
    assert.ok(broken.startsWith(ink('red', '✘')) && broken.includes(ink('red', failed.says)), broken);
    const text = drawResource({ ...plain, gateways: [named('a', 'Error')] }, host).join('\n');
    assert.ok(text.includes(ink('red', 'Error')), text);
  });

  test('with the permissions that its numbers lack', () => {
    const basis = { from: 'status' as const, shown: 2, total: 9, denied: ['SyncReports' as const] };
    const lines = drawFleet(
      { ...fleet, items: [{ ...plain, basis }] },
      { host: hostOf(undefined), isEverywhere: false },
    );
    assert.ok(lines.includes('gateways from the status alone; not allowed to list SyncReports'), lines.join('\n'));
  });
});

suite('kubectl stoker status shows one resource', () => {
  const facts = (fields: Partial<ResourceView>) =>
    Object.fromEntries(
      textOf(drawResource({ ...plain, ...fields }, hostOf(undefined)))
        .slice(1)
        .flatMap((line) => {
          const [, label = '', text = ''] = /^ {2}(\w+) +(.*)$/.exec(line) ?? [];
          return label ? [[label, text]] : [];
        }),
    );

  test('with its ref, and only with fields that it has', () => {
    assert.deepEqual(textOf(drawResource(plain, hostOf(undefined))), [
      '✔ gateways/press: all 2 gateways have it',
      '  repository https://git.example.com/press.git',
      '  follows    main, not resolved yet',
      '  gateways   2 of 2 in sync',
      '  source     the reports of all 2 gateways',
      'and 2 more, which the status counts but does not list',
    ]);
  });

  test('with each gateway', () => {
    const gateways = [
      named('a', 'Synced', { wave: 'canary', commit: COMMIT, syncedAt: at(4), took: '1.2s' }),
      named('b', 'Error', { pod: 'b', wave: 'rest', waitsFor: 'a disk' }),
    ];
    assert.deepEqual(textOf(drawResource({ ...plain, gateways }, hostOf(undefined))).slice(5), [
      '',
      'GATEWAY   POD   WAVE     STATUS   COMMIT     SYNCED    TOOK   WAITS FOR',
      'b               rest     Error                                a disk',
      'a         a-0   canary   Synced   c0ffee11   60s ago   1.2s',
    ]);
  });

  test('in text form', () => {
    for (const [source, fact] of [
      ['Spec', /spec\.git\.ref/],
      ['Request', /requested/],
      ['Push', /pushed/],
    ] as const)
      assert.match(facts({ source }).follows ?? '', fact);
    for (const [reason, fact] of [
      ['RefNotFound', /^main, .*mian.* not found/],
      ['NoMatchingTag', /mian.* not found/],
      ['NoVersionTag', /mian.* not found/],
      ['GitTimeout', /mian.*GitTimeout/],
      [undefined, /mian.* yet/],
    ] as const)
      assert.match(
        facts({ source: 'Spec', unfollowed: { ref: 'mian', ...(reason && { reason }) } }).follows ?? '',
        fact,
      );
    assert.equal(facts({ commit: COMMIT, resolvedAt: at(3) }).commit, `${COMMIT}, 2m ago`);
    const back = { commit: COMMIT, resolvedAt: at(3), backOn: 'f'.repeat(40) };
    assert.equal(facts(back).commit, `${'f'.repeat(40)}, instead of c0ffee11`);
    const every = { total: 28, synced: 1, pending: 2, error: 3, missingSidecar: 4, paused: 5, dryRun: 6, skewed: 7 };
    const counted = 'with an error, 4 without a sidecar, 9 in progress, 5 paused, 6 in a dry run';
    assert.equal(facts({ counts: every }).gateways, `1 of 28 in sync, 3 ${counted}`);
    const request = { id: 'x', ref: 'v2', at: at(3), outcome: 'Failed', by: 'ann', message: 'not allowed' } as const;
    assert.equal(facts({ lastRequest: request }).request, 'v2 by ann, 2m ago: failed, not allowed');
    const push = { id: 'x', ref: 'main', at: 'no time', outcome: 'Pending' } as const;
    assert.equal(facts({ lastPush: push }).push, 'main: still open');
  });

  test('with the progress of its rollout, and the obstacle unless it is already shown', () => {
    const rollout = view.rollout as NonNullable<ResourceView['rollout']>;
    assert.equal(facts({ rollout, says: 'x' }).rollout, 'canary 0/1: the wave canary waits for till-0');
    assert.equal(facts({ rollout, says: 'the wave canary waits for till-0' }).rollout, 'canary 0/1');
    assert.equal(
      facts({ rollout: { ...rollout, release: 'till-7' }, says: 'x' }).rollout?.startsWith('till-7, '),
      true,
    );
  });

  test('with a legend only if shapes are shown', () => {
    const { rollout } = view as { rollout: NonNullable<ResourceView['rollout']> };
    const waves = rollout.waves.map(({ name, state }) => ({ name, state }));
    const shapes = drawResource({ ...plain, rollout }, hostOf(undefined)).join('\n');
    const bare = drawResource({ ...plain, rollout: { ...rollout, waves } }, hostOf(undefined)).join('\n');
    assert.match(shapes, /\n\n {2}▶ canary .*\n.*\n\n {2}\S.*▒ /);
    assert.match(bare, /\n\n {2}▶ canary/);
    assert.doesNotMatch(bare, /▒/);
  });
});
