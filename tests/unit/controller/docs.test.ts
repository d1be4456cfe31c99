import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { createMetrics } from '../../../controller/metrics/metrics.ts';
import { RESOURCE_METRICS } from '../../../controller/metrics/resource-metrics.ts';
import { orderTransitions, transitionsOf } from '../../../controller/reconcile/status-transitions.ts';
import { gatewaySyncStatusSchema } from '../../../shared/api/gateway-sync-status.ts';
import { ROLLOUT_ANNOTATIONS } from '../../../shared/api/names.ts';
import { CONDITION_REASONS, ERROR_REASONS } from '../../../shared/api/reasons.ts';
import { ROLLOUT_PHASES, type RolloutPhase, type RolloutStatus } from '../../../shared/api/rollout.ts';
import { documentedMetrics, registeredMetrics } from '../../support/documented-metrics.ts';
import { rolloutStatusOf } from '../../support/objects.ts';

const checkout = path.join(import.meta.dirname, '../../..');
const read = (file: string) => readFile(path.join(checkout, file), 'utf8');

test('docs/reference/metrics.md lists exactly the metrics that the controller exports', async () => {
  const documented = await documentedMetrics('sync_controller_');
  const ofResources = (name: string) => name in RESOURCE_METRICS;
  assert.deepEqual(
    documented.filter(({ name }) => !ofResources(name)),
    registeredMetrics('sync_controller_', createMetrics().registry),
  );
  assert.deepEqual(
    documented.flatMap(({ name }) => (ofResources(name) ? [name] : [])),
    Object.keys(RESOURCE_METRICS).sort(),
  );
});

/** Reasons of the condition RolledOut, and the corresponding ones of Ready. */
const ofRollouts = [
  ...ROLLOUT_PHASES,
  ...[...ROLLOUT_PHASES.filter((phase) => phase !== 'Complete'), 'Waiting'].map((reason) => `Rollout${reason}`),
];

test('no reason is left that the programs no longer use', async () => {
  let code = '';
  for await (const file of glob('{agent,controller,shared}/**/*.ts', { cwd: checkout }))
    if (file !== 'shared/api/reasons.ts') code += await read(file);
  const unused = [...CONDITION_REASONS, ...ERROR_REASONS].filter((reason) => !code.includes(`'${reason}'`));
  assert.deepEqual(unused, []);
});

const wordsIn = (text: string) => [...text.matchAll(/`([A-Z]\w+)`/g)].map(([, word = '']) => word);

suite('docs/reference/conditions.md', () => {
  /** The first two columns of each row. */
  const rows = async () =>
    [...(await read('docs/reference/conditions.md')).matchAll(/^\| (`[^|]+) \| ([^|]+) \|/gm)].map(
      ([, types = '', reasons = '']) => ({ types: wordsIn(types), reasons: wordsIn(reasons) }),
    );
  const sorted = (words: string[]) => [...new Set(words)].sort();

  test('lists exactly the types of conditions', async () => {
    const [, types = ''] = /type ConditionType =([^;]+);/.exec(await read('shared/api/gateway-sync-status.ts')) ?? [];
    const known = [...types.matchAll(/'(\w+)'/g)].map(([, type = '']) => type);
    assert.deepEqual(sorted((await rows()).flatMap((row) => row.types)), sorted(known));
  });

  test('lists exactly the reasons that conditions can have', async () => {
    assert.deepEqual(
      sorted((await rows()).flatMap((row) => row.reasons)),
      sorted([...CONDITION_REASONS, ...ofRollouts]),
    );
  });

  test('lists exactly the events of rollouts', async () => {
    const [, listed = ''] =
      /^- A rollout enters a phase: (.*)$/m.exec(await read('docs/reference/conditions.md')) ?? [];
    const at = (phase: RolloutPhase, number: number) => ({
      rollout: { number, phase, summary: '' } as RolloutStatus,
    });
    const written = ROLLOUT_PHASES.flatMap((phase) => transitionsOf(at(phase, 1), at(phase, 2)));
    assert.deepEqual(wordsIn(listed).sort(), written.map(({ reason }) => reason).sort());
  });

  test('lists exactly the events of user commands', async () => {
    const [, listed = ''] = /^- A user approves, .*: (.*)$/m.exec(await read('docs/reference/conditions.md')) ?? [];
    const handled = Object.fromEntries(Object.keys(ROLLOUT_ANNOTATIONS).map((order) => [order, 'x']));
    const after = { rollout: rolloutStatusOf({ handled }) };
    const written = orderTransitions({ rollout: rolloutStatusOf() }, after, {});
    assert.deepEqual(wordsIn(listed).sort(), written.map(({ reason }) => reason).sort());
  });

  test('lists exactly the events of requests and pushes', async () => {
    const page = await read('docs/reference/conditions.md');
    const listed = [...page.matchAll(/^- A (?:request|push) is handled: (.*)$/gm)].map(([, events = '']) => events);
    const { outcome } = gatewaySyncStatusSchema.entries.lastRequest.wrapped.entries;
    const written = outcome.options.flatMap((each) => {
      const handled = { ref: 'v1', outcome: each };
      return transitionsOf({}, { lastRequest: handled, lastPush: handled }).map(({ reason }) => reason);
    });
    assert.deepEqual(wordsIn(listed.join()).sort(), written.sort());
  });
});
