import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createMetrics } from '../../../controller/metrics/metrics.ts';
import { RESOURCE_METRICS } from '../../../controller/metrics/resource-metrics.ts';
import { PHASES } from '../../../controller/rollout/machine.ts';
import { AGENT_REASONS, CONDITION_REASONS } from '../../../shared/api/reasons.ts';
import { ROLLOUT_PHASES } from '../../../shared/api/rollout.ts';
import { documentedMetrics, registeredMetrics } from '../../support/documented-metrics.ts';

const checkout = path.join(import.meta.dirname, '../../..');

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

test('the diagram of a rollout shows exactly the moves of the phases', async () => {
  const page = await readFile(path.join(checkout, 'docs/explanation/rollouts.md'), 'utf8');
  const shown = [...page.matchAll(/^ {2}(\w+) --> (\w+): /gm)].map(([, from, to]) => `${from} ${to}`);
  const moves = Object.entries(PHASES).flatMap(([from, { to }]) =>
    to.filter((phase) => phase !== from).map((phase) => `${from} ${phase}`),
  );
  assert.deepEqual(shown.sort(), moves.sort());
});

const wordsIn = (text: string) => [...text.matchAll(/`([A-Z]\w+)`/g)].map(([, word = '']) => word);

test('docs/reference/conditions.md lists exactly the reasons that conditions can have', async () => {
  const page = await readFile(path.join(checkout, 'docs/reference/conditions.md'), 'utf8');
  /** In the second column. */
  const listed = [...page.matchAll(/^\| `[^|]+ \| ([^|]+) \|/gm)].flatMap(([, reasons = '']) => wordsIn(reasons));
  assert.deepEqual(new Set(listed), new Set([...CONDITION_REASONS, ...ofRollouts]));
});

test('docs/reference/agent-reasons.md explains every reason that only agents report, and none that they never report', async () => {
  const page = await readFile(path.join(checkout, 'docs/reference/agent-reasons.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = '']) => reason);
  const known: string[] = [...AGENT_REASONS, ...CONDITION_REASONS];
  assert.deepEqual(
    listed.filter((reason) => !known.includes(reason)),
    [],
  );
  assert.deepEqual(
    AGENT_REASONS.filter((reason) => !listed.includes(reason)),
    [],
  );
  assert.equal(new Set(listed).size, listed.length);
});
