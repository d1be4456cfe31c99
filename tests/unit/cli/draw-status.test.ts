import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawFleet, drawResource } from '../../../cli/commands/draw-status.ts';
import type { ResourceView } from '../../../cli/fleet/fleet.ts';
import type { Look } from '../../../cli/terminal/bars.ts';
import type { Host } from '../../../cli/terminal/host.ts';
import { widthOf } from '../../../cli/terminal/text.ts';

const COMMIT = 'c0ffee11'.repeat(5);
const gateways = (count: number, look: Look) =>
  Array.from({ length: count }, (_, index) => ({ name: `till-${index}`, pod: `till-${index}-0`, look }));

const view: ResourceView = {
  ...{ namespace: 'gateways', name: 'plant', state: 'busy', reason: 'RolloutProgressing' },
  says: 'the wave canary waits for till-0, since 2026-01-01T00:00:00Z',
  ...{ repo: 'https://git.example.com/plant/config.git', ref: 'main', source: 'Spec', commit: COMMIT },
  resolvedAt: '2026-01-01T00:00:00Z',
  counts: { total: 1000, synced: 999, pending: 1, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 },
  rollout: {
    ...{ number: 1, phase: 'Progressing', summary: 'canary 0/1', commit: COMMIT, stableCommit: COMMIT },
    ...{ message: 'the wave canary waits for till-0', startedAt: '2026-01-01T00:00:00Z' },
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
      ...{ name: 'till-0', pod: 'till-0-0', wave: 'canary', status: 'Pending', commit: COMMIT },
      ...{ syncedAt: '2026-01-01T00:00:00Z', took: '1.2s' },
      waitsFor: 'its agent has not reported on the latest change yet',
    },
  ],
};

const hostOf = (columns: number | undefined): Host => ({
  ...{ print: () => {}, note: () => {}, columns, hasColours: false, confirm: undefined },
  now: () => Date.parse('2026-01-01T00:05:00Z'),
});

test('a rollout of a thousand gateways fits into every terminal, and says the same in each', () => {
  for (const columns of [40, 60, 80, 200]) {
    const host = hostOf(columns);
    const fleet = { items: [view], totals: { resources: 1, ready: 0, gateways: 1000, synced: 999 } };
    for (const lines of [drawResource(view, host), drawFleet(fleet, { host, isEverywhere: true })]) {
      for (const line of lines) assert.ok(widthOf(line) <= columns, `${columns}: ${line}`);
      assert.match(lines.join(' ').replaceAll(/\s+/g, ''), /itsagenthasnotreportedonthelatestchangeyet/);
    }
  }
});

test('a rollout shows a shape for each gateway, in a pipe as on a terminal', () => {
  const lines = drawResource(view, hostOf(undefined));
  assert.ok(
    lines.some((line) => /▶ canary +▒ {2}0\/1, 1 on the way$/.test(line)),
    lines.join('\n'),
  );
  assert.ok(lines.includes('and 999 more, which the status counts and does not name'));
  assert.ok(lines.includes('  commit     '.concat(COMMIT, ', 5m ago')));
});
