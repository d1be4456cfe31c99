import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { StoredSyncs } from '../../../../agent/resource/stored-syncs.ts';
import { syncRevision } from '../../../../shared/domain/rollout/sync-revision.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { ApiRequest } from '../../../../shared/io/kubernetes/client.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';

const identity = { namespace: 'plant', profile: 'line-1' };
const syncTo = (destination: string) => {
  const mappings = [{ source: 'a', destination }];
  return { profiles: { 'line-1': { mappings }, 'line-2': { mappings } } };
};
const revision = syncRevision(syncTo('a'));
const release = 'app-6';
const pathOf = (name: string) => `/apis/sync.io/v1alpha1/namespaces/plant/syncreleases/${name}`;
const path = pathOf(release);

const releaseWith = (sync: unknown) => ({ metadata: { name: release }, spec: { number: 6, sources: [], sync } });

/** The stored syncs of an agent, and an API server that sends one response after another, and repeats the last one. */
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
  const syncs = new StoredSyncs({
    client: clientWith({ stream }),
    identity,
    onChange: () => {
      changes += 1;
    },
    log: createLogger('test', { level: 'silent' }),
  });
  const find = () => syncs.find({ revision, release });
  /** The result after the API server has responded. */
  const found = async () => {
    const before = changes;
    assert.equal(typeof find(), 'string', 'it is not known yet');
    while (changes === before) await turn();
    return find();
  };
  return { syncs, asked, find, found, changes: () => changes };
}

const sound = releaseWith(syncTo('a'));

suite('the spec.sync of a release', () => {
  test('is read once, and provides the profile of the gateway', async (t) => {
    const { asked, find, found } = arrange(t, sound);
    const view = await found();
    assert.ok(typeof view !== 'string');
    assert.deepEqual([view.name, view.names, view.startPolicy], ['line-1', ['line-1', 'line-2'], 'requireSync']);
    assert.equal(view.profile?.mappings[0]?.destination, 'a');
    assert.equal(find(), view);
    assert.deepEqual(asked, [path]);
  });

  test('is known under every name of the same content', async (t) => {
    const { syncs, asked, found } = arrange(t, sound);
    const view = await found();
    assert.equal(syncs.find({ revision, release: 'app-9' }), view);
    assert.equal(syncs.find({ revision, release: undefined }), view);
    assert.deepEqual(asked, [path]);
  });

  test('is read under another name if the release was replaced', async (t) => {
    const { syncs, asked, found } = arrange(t, new ApiError(404, '{}'), sound);
    assert.equal(typeof (await found()), 'string');
    const find = () => syncs.find({ revision, release: 'app-9' });
    assert.equal(typeof find(), 'string');
    while (typeof find() === 'string') await turn();
    assert.deepEqual(asked, [path, pathOf('app-9')]);
  });

  test("isn't requested if the status names no release, which an earlier controller wrote", (t) => {
    const { syncs, asked } = arrange(t, sound);
    assert.match(String(syncs.find({ revision, release: undefined })), /names no SyncRelease/);
    assert.deepEqual(asked, []);
  });

  const unusable: [name: string, response: unknown][] = [
    ['contains other mappings', releaseWith(syncTo('evil'))],
    ['contains no spec.sync', { metadata: { name: release }, spec: { number: 6, sources: [] } }],
    ['has no content', { metadata: { name: release } }],
    ['is invalid', releaseWith({ profiles: 'none' })],
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
    [404, `plant/${release}`],
    [403, 'get on syncreleases'],
  ] as const) {
    test(`is missing with a reason that names ${value}`, async (t) => {
      const { found } = arrange(t, new ApiError(status, '{}'));
      assert.ok(String(await found()).includes(value));
    });
  }
});
