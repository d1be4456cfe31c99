import assert from 'node:assert/strict';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { createAnnotate } from '../../../../receiver/annotations/annotate.ts';
import { judgeFailure } from '../../../../receiver/annotations/judge-failure.ts';
import { FIELD_MANAGERS } from '../../../../shared/api/names.ts';
import { gatewaySyncPath } from '../../../../shared/io/kubernetes/resource-path.ts';
import { clientOfServer } from '../../../support/client-of-server.ts';

const target = { namespace: 'team', name: 'demo' };
const object = JSON.stringify({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { ...target, annotations: { large: 'x'.repeat(200_000) } },
});

test('annotations count as stored if the API server returns the object, even in pieces', async (t) => {
  const sent: unknown[] = [];
  const client = await clientOfServer(t, async (request, response) => {
    sent.push(request.url, await json(request));
    response.write(object.slice(0, 10));
    setTimeout(() => response.end(object.slice(10)), 20);
  });
  await createAnnotate(client)(target, { 'sync.io/requested-ref': 'v1' }, 5_000);
  assert.deepEqual(sent, [
    `${gatewaySyncPath('team', 'demo')}?fieldManager=${FIELD_MANAGERS.receiver}`,
    { metadata: { annotations: { 'sync.io/requested-ref': 'v1' } } },
  ]);
});

for (const [what, status, body] of [
  ['an HTML page', 200, '<!doctype html>'],
  ['an empty response', 204, ''],
  ['null', 200, 'null'],
  ['a failure object', 200, '{"kind":"Status","apiVersion":"v1","status":"Failure"}'],
] as const) {
  test(`${what} with status ${status} doesn't count as stored, and is retried`, async (t) => {
    const client = await clientOfServer(t, (_, response) => void response.writeHead(status).end(body));
    const error = await createAnnotate(client)(target, {}, 5_000).then(() => undefined, Object);
    assert.deepEqual(judgeFailure(error, target), { kind: 'retry', afterMs: 0 });
  });
}
