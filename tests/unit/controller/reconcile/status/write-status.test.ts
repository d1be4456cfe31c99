import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { writeStatus } from '../../../../../controller/reconcile/status/write-status.ts';
import { projectGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import { ApiError } from '../../../../../shared/io/kubernetes/api-error.ts';
import { clientWith } from '../../../../support/client-with.ts';
import { gatewaySyncOf } from '../../../../support/objects.ts';

const resource = (metadata: object, status: GatewaySyncStatus = { observedRef: 'main' }) =>
  gatewaySyncOf({ metadata: { uid: 'uid', resourceVersion: '1', generation: 1, ...metadata }, status });
const decidedFrom = projectGatewaySync(resource({}), undefined, 0);

/** Writes a status to an API server with this answer to the patch, and this stored resource. */
async function write(status: GatewaySyncStatus, { answer = 200, live = resource({}), attempt = 1 } = {}) {
  const sent: unknown[] = [];
  const patch = async (_: string, body: unknown) => {
    sent.push(body);
    if (answer !== 200) throw new ApiError(answer, '{}');
    return live;
  };
  const client = clientWith({ mergePatch: patch, jsonPatch: patch, getAs: async () => live });
  const outcome = await writeStatus(client, decidedFrom, { status, attempt }).catch(({ status }: ApiError) => status);
  return { outcome, sent };
}

suite('a status', () => {
  test('is sent as the fields that changed, for the version that it was decided from', async () => {
    const { outcome, sent } = await write({ observedRef: 'main', profileCount: 1 });
    assert.deepEqual(outcome, { kind: 'written' });
    assert.deepEqual(sent, [{ metadata: { uid: 'uid', resourceVersion: '1' }, status: { profileCount: 1 } }]);
  });

  test("isn't sent if nothing changed", async () => {
    assert.deepEqual(await write({ observedRef: 'main' }), { outcome: { kind: 'unchanged' }, sent: [] });
  });

  test('must be decided again from the stored resource if that was changed', async () => {
    const live = resource({ resourceVersion: '2' }, { observedRef: 'next' });
    for (const answer of [409, 422]) {
      const { outcome } = await write({ profileCount: 1 }, { answer, live, attempt: 2 });
      assert.deepEqual(outcome, { kind: 'conflict', live });
    }
  });

  test("isn't written to a new resource of the same name", async () => {
    const { outcome } = await write({ profileCount: 1 }, { answer: 409, live: resource({ uid: 'next' }) });
    assert.deepEqual(outcome, { kind: 'gone' });
  });

  test("isn't written to a deleted resource", async () => {
    assert.deepEqual((await write({ profileCount: 1 }, { answer: 404 })).outcome, { kind: 'gone' });
  });

  test('is retried later if the API server rejects it', async () => {
    for (const answer of [403, 409, 422, 500])
      assert.equal((await write({ profileCount: 1 }, { answer })).outcome, answer);
  });
});
