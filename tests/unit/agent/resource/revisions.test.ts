import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Revisions } from '../../../../agent/resource/revisions.ts';
import { syncRevision } from '../../../../shared/domain/rollout/sync-revision.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { ApiRequest } from '../../../../shared/io/kubernetes/client.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';

const OWNER = 'uid';
const identity = { namespace: 'plant', crName: 'app', profile: 'line-1' };
const syncTo = (destination: string) => {
  const mappings = [{ source: 'a', destination }];
  return { profiles: { 'line-1': { mappings }, 'line-2': { mappings } } };
};
const revision = syncRevision(syncTo('a'));
const path = `/apis/apps/v1/namespaces/plant/controllerrevisions/app-sync-${revision}`;

const revisionOf = (sync: unknown, ...owners: string[]) => ({
  metadata: { ownerReferences: owners.map((uid) => ({ uid })) },
  data: { sync },
});

/** Revisions of an agent, and an API server that sends one response after another, and repeats the last one. */
function arrange(t: TestContext, ...responses: unknown[]) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked: string[] = [];
  const stream = async (request: ApiRequest) => {
    asked.push(request.path);
    const response = responses.length > 1 ? responses.shift() : responses[0];
    if (response instanceof Error) throw response;
    return Object.assign(Readable.from([Buffer.from(JSON.stringify(response))]), { complete: true });
  };
  let changes = 0;
  const revisions = new Revisions({
    client: clientWith({ stream }),
    identity,
    onChange: () => {
      changes += 1;
    },
    log: createLogger('test', { level: 'silent' }),
  });
  const find = () => revisions.find(revision, OWNER);
  /** The result after the API server has responded. */
  const found = async () => {
    const before = changes;
    assert.equal(typeof find(), 'string', 'it is not known yet');
    while (changes === before) await turn();
    return find();
  };
  return { asked, find, found, changes: () => changes };
}

const sound = revisionOf(syncTo('a'), 'another', OWNER);

suite('an earlier revision of spec.sync', () => {
  test('is read once, and provides the profile of the gateway', async (t) => {
    const { asked, find, found } = arrange(t, sound);
    const view = await found();
    assert.ok(typeof view !== 'string');
    assert.deepEqual([view.name, view.names, view.startPolicy], ['line-1', ['line-1', 'line-2'], 'requireSync']);
    assert.equal(view.profile?.mappings[0]?.destination, 'a');
    assert.equal(find(), view);
    assert.deepEqual(asked, [path]);
  });

  const unusable: [name: string, response: unknown][] = [
    ['belongs to no GatewaySync', revisionOf(syncTo('a'))],
    ['belongs to another GatewaySync of that name', revisionOf(syncTo('a'), 'another')],
    ['contains other mappings', revisionOf(syncTo('evil'), OWNER)],
    ['contains no spec.sync', { metadata: { ownerReferences: [{ uid: OWNER }] }, data: {} }],
    ['has no content', { metadata: { ownerReferences: [{ uid: OWNER }] } }],
    ['does not exist', new ApiError(404, '{}')],
    ['must not be read', new ApiError(403, '{}')],
  ];
  for (const [name, response] of unusable) {
    test(`is not used if it ${name}, and read again later`, async (t) => {
      const { asked, find, found, changes } = arrange(t, response, response, sound);
      const reason = await found();
      assert.equal(typeof reason, 'string');
      assert.equal(find(), reason);
      t.mock.timers.tick(2_000);
      assert.equal(changes(), 2, 'the delay has passed');
      await found();
      t.mock.timers.tick(999);
      assert.equal(changes(), 3, 'the second delay is longer');
      t.mock.timers.tick(3_001);
      assert.notEqual(typeof (await found()), 'string');
      assert.deepEqual(asked, [path, path, path]);
    });
  }

  for (const [status, value] of [
    [404, `plant/app-sync-${revision}`],
    [403, 'get on controllerrevisions'],
  ] as const) {
    test(`is missing with a reason that names ${value}`, async (t) => {
      const { found } = arrange(t, new ApiError(status, '{}'));
      assert.ok(String(await found()).includes(value));
    });
  }
});
