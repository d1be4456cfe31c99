import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllerEffects } from './support/effects/controller.ts';
import type { Effects } from './support/effects/effect.ts';
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
const usual = { ...allOn, 'crds.install': false };

const renderings = new Map<string, Promise<Rendered[]>>();

function renderOnce(values: object): Promise<Rendered[]> {
  const key = JSON.stringify(values);
  const rendering = renderings.get(key) ?? render(values);
  renderings.set(key, rendering);
  return rendering;
}

test('every value has a test of its effect', async () => {
  assert.deepEqual(Object.keys(effects).sort(), (await listDocumentedValues()).sort());
});

for (const [name, effect] of Object.entries(effects)) {
  test(`${name} has its effect`, async () => {
    const given = { ...usual, ...effect.given };
    assert.notDeepEqual(effect.in(await renderOnce(given)), effect.is, 'without the value');
    assert.deepEqual(effect.in(await render({ ...given, [name]: effect.to })), effect.is);
  });
}
