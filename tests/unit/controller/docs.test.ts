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
  const others = documented.filter(({ name }) => !ofResources(name));
  assert.deepEqual(others, registeredMetrics('sync_controller_', createMetrics().registry));
  const names = documented.map(({ name }) => name).filter(ofResources);
  assert.deepEqual(names, Object.keys(RESOURCE_METRICS).sort());
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
  const [, reasons = ''] = /^## Reasons\n(.*?)^## States of a gateway$/ms.exec(page) ?? [];
  /** In the first column. */
  const listed = [...reasons.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, names = '']) => wordsIn(names));
  assert.deepEqual(new Set(listed), new Set([...CONDITION_REASONS, ...ofRollouts]));
});

test('docs/reference/agent-reasons.md explains every reason that only agents report, and none that they never report', async () => {
  const page = await readFile(path.join(checkout, 'docs/reference/agent-reasons.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = '']) => reason);
  const known: string[] = [...AGENT_REASONS, ...CONDITION_REASONS];
  const unknown = listed.filter((reason) => !known.includes(reason));
  assert.deepEqual(unknown, []);
  const missing = AGENT_REASONS.filter((reason) => !listed.includes(reason));
  assert.deepEqual(missing, []);
  assert.equal(new Set(listed).size, listed.length);
});
