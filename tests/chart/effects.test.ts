import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { sample } from '../support/depth.ts';
import { controllerEffects } from './support/effects/controller.ts';
import type { Effect, Effects } from './support/effects/effect.ts';
import { monitoringEffects } from './support/effects/monitoring.ts';
import { receiverEffects } from './support/effects/receiver.ts';
import { type Rendered, render } from './support/render.ts';
import { listDocumentedValues } from './support/values.ts';

const effects: Effects = { ...controllerEffects, ...receiverEffects, ...monitoringEffects };

/**
 * Everything that is off by default, so that each value has something to change; but not the CRDs, which take helm and
 * the parser longer than all else.
 */
const allOn = Object.fromEntries(
  [
    'webhookReceiver.enabled',
    'webhookReceiver.ingress.enabled',
    'serviceMonitor.enabled',
    'podMonitor.enabled',
    'prometheusRule.enabled',
    'grafanaDashboard.enabled',
    'networkPolicy.enabled',
  ].map((name) => [name, true]),
);
const usual = {
  ...allOn,
  'crds.install': false,
  // The Ingress needs both.
  'webhookReceiver.ingress.hosts': [{ host: 'any.test', paths: [{ path: '/webhook', pathType: 'Prefix' }] }],
  'webhookReceiver.token.secret': 'any',
};

const tried = sample(Object.entries(effects), 4);
const renderings = new Map<string, Rendered[]>();

/** The values without the one that a test is about, and with it. */
function valuesOf(name: string, { given, to }: Effect): { without: object; set: object } {
  const without = { ...usual, ...given };
  return { without, set: { ...without, [name]: to } };
}

before(async () => {
  const values = tried.flatMap(([name, effect]) => Object.values(valuesOf(name, effect)));
  const sets = new Map(values.map((set) => [JSON.stringify(set), set]));
  await Promise.all([...sets].map(async ([key, set]) => renderings.set(key, await render(set))));
});

const renderingOf = (values: object) => renderings.get(JSON.stringify(values)) ?? [];

/** Values that only allow others and have no separate effect. */
const permissions = ['webhookReceiver.allowUnauthenticated'];

test('every value has a test of its effect', async () => {
  assert.deepEqual([...Object.keys(effects), ...permissions].sort(), (await listDocumentedValues()).sort());
});

for (const [name, effect] of tried) {
  test(`the value ${name} has an effect`, async () => {
    const { without, set } = valuesOf(name, effect);
    assert.notDeepEqual(effect.in(renderingOf(without)), effect.is, 'without the value');
    assert.deepEqual(effect.in(renderingOf(set)), effect.is);
  });
}

test('sets of values render the same together and alone', async () => {
  const sets = [usual, { ...usual, nameOverride: 'other', 'commonLabels.a': 'b' }];
  const together = await Promise.all(sets.map((values) => render(values)));
  for (const [index, values] of sets.entries()) assert.deepEqual(await render(values), together[index]);
});
