import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sample } from '../support/depth.ts';
import { environmentOf, pick, render } from './support/render.ts';

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** Values of an image, and the resulting reference. */
const cases: [image: Record<string, string>, reference: string][] = [
  [{ repository: 'quay.io/team/x' }, 'quay.io/team/x:0.1.0'],
  [{ repository: 'quay.io/team/x', registry: 'r.test' }, 'r.test/team/x:0.1.0'],
  [{ repository: 'quay.io/team/x', registry: 'r.test:5000/mirror/' }, 'r.test:5000/mirror/team/x:0.1.0'],
  [{ repository: 'localhost:5000/x', registry: 'r.test' }, 'r.test/x:0.1.0'],
  [{ repository: 'localhost/x', registry: 'r.test' }, 'r.test/x:0.1.0'],
  // Without a registry: Docker Hub's.
  [{ repository: 'team/x', registry: 'r.test' }, 'r.test/team/x:0.1.0'],
  [{ repository: 'x', registry: 'r.test', tag: '7' }, 'r.test/x:7'],
  [{ repository: 'quay.io/x', digest }, `quay.io/x@${digest}`],
  [{ repository: 'quay.io/x', tag: '7', digest, registry: 'r.test' }, `r.test/x@${digest}`],
];

for (const [image, reference] of sample(cases)) {
  test(`the image values ${JSON.stringify(image)} give ${reference} for all three images`, async () => {
    const objects = await render({ image, agentImage: image, webhookReceiver: { enabled: true, image } });
    const controller = pick(objects, 'Deployment', 'stoker-operator');
    const receiver = pick(objects, 'Deployment', '-receiver');
    for (const { spec } of [controller, receiver]) assert.equal(spec.template.spec.containers[0].image, reference);
    assert.equal(environmentOf(controller).DEFAULT_AGENT_IMAGE, reference);
  });
}
