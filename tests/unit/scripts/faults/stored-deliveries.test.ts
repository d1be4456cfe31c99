import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { storedDeliveries, takenDeliveries } from '../../../../scripts/faults/invariants/stored-deliveries.ts';
import { judgeAnswer, Senders } from '../../../../scripts/faults/world/senders.ts';
import { slow } from '../../../support/depth.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { makeResources } from './make-resources.ts';

const delivery = { target: 'n/r', event: 'push', payload: {} };

/** Returns senders whose receiver responds to each delivery with this listener. */
async function sendersTo(t: TestContext, listener: RequestListener): Promise<Senders> {
  const directory = await temporaryDirectory(t, 'senders-');
  const senders = new Senders(path.join(directory, 'secret'), [await startHttpHost(t, listener)]);
  await senders.writeSecret();
  return senders;
}

const answering =
  (status: number): RequestListener =>
  (_, response) =>
    void response.writeHead(status).end();

suite('the check of responses to deliveries', () => {
  test('reports a receiver that rejects a delivery', async (t) => {
    for (const status of [400, 401, 404, 408, 429, 200, 500]) {
      const senders = await sendersTo(t, answering(status));
      await senders.post(0, delivery);
      assert.match(takenDeliveries({ senders }).join(), new RegExp(`answered ${status}`));
    }
  });

  test('accepts a rejection if the secret was rotated during the request', () => {
    assert.deepEqual(judgeAnswer(401, { isSecretAccepted: false }), { answer: 'refused', isStrange: false });
    assert.equal(judgeAnswer(404, { isSecretAccepted: false }).isStrange, true);
  });

  test('accepts an unavailable receiver, but not for each of many deliveries', async (t) => {
    const senders = await sendersTo(t, answering(503));
    for (let count = 1; count < 10; count += 1) await senders.post(0, delivery);
    assert.deepEqual(takenDeliveries({ senders }), []);
    await senders.post(0, delivery);
    assert.equal(takenDeliveries({ senders }).length, 1);
  });
});

suite('the check after all faults are repaired', () => {
  const resourcesOf = async (t: TestContext, ...names: string[]) => {
    const resources = await makeResources(t, ...names);
    for (const { known } of resources) known.tips.push('a', 'b');
    return resources;
  };

  test('requires that each resource gets a delivery, at once or a little later', slow, async (t) => {
    const asked: (string | undefined)[] = [];
    const senders = await sendersTo(t, (request, response) => {
      asked.push(request.url);
      answering(asked.length === 1 ? 503 : 202)(request, response);
    });
    assert.deepEqual(await storedDeliveries({ senders, resources: await resourcesOf(t, 'r', 's') }), []);
    assert.deepEqual(asked, ['/webhook/n/r', '/webhook/n/r', '/webhook/n/s']);
  });

  test('reports a receiver that rejects deliveries', async (t) => {
    const senders = await sendersTo(t, answering(401));
    assert.match(
      (await storedDeliveries({ senders, resources: await resourcesOf(t, 'r') })).join(),
      /answered 401.*no delivery/,
    );
  });
});
