import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { conditionOf } from '../../../../controller/reconcile/merge-conditions.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { REFRESHED_BY } from '../../../../shared/api/names.ts';
import { fc, runs } from '../../../support/property.ts';
import { type Asked, at, decideFor, resourceOf, second } from '../support/requested-resource.ts';

const hubWith = (asked: Asked = {}, fields: Partial<ObservedGatewaySync> = {}): ObservedGatewaySync => ({
  ...resourceOf(asked),
  name: 'hub',
  ...fields,
});

const request = (seconds: number, ref = 'v1') => ({ ref, id: `${seconds}`, at: at(seconds) });

/** The status of a follower of `hub` that has handled nothing yet. */
function followed(asked: Asked, hub: ObservedGatewaySync | undefined): GatewaySyncStatus {
  const follower = resourceOf({ from: 'hub', fromSeen: 5, ...asked });
  return decideFor(follower, hub && { hub }).status;
}

const sourceIn = ({ conditions }: GatewaySyncStatus) => conditionOf(conditions, 'WebhookSource');
const endIn = ({ target, lastRequest }: GatewaySyncStatus) => [target?.ref, lastRequest?.outcome];

const asked = { request: request(10) };
const mirror = 'https://git.test/acme/site';
/** Whether a request for the hub counts for the follower. */
const cases: [what: string, isFollowed: boolean, follower: Asked, hub: ObservedGatewaySync][] = [
  ['but not for itself', false, asked, hubWith()],
  ['even if there is a newer one for itself', true, { request: request(20, 'v2') }, hubWith(asked)],
  ['but not if it is older than the edit', false, { fromSeen: 11 }, hubWith(asked)],
  ['if it is of the second of the edit', true, { fromSeen: 10 }, hubWith(asked)],
  ['but not if it was restored with the hub', false, {}, hubWith(asked, { createdAt: second(20) })],
  [
    'but not if the hub ignored it because it followed another one',
    false,
    {},
    hubWith({ ...asked, fromSeen: 15, status: { observedWebhookFrom: 'main' } }),
  ],
  [
    'but not if the hub ignored it, as its status shows',
    false,
    {},
    hubWith({ ...asked, fromSeen: 15, status: { observedWebhookFromTime: at(15) } }),
  ],
  ['even if the hub is paused', true, {}, hubWith({ ...asked, paused: true })],
  ['if the repository has another spelling', true, {}, hubWith({ ...asked, repo: 'git@ssh.git.test:App' })],
  ['if the repository is a mirror', true, { repositories: ['acme/site'] }, hubWith({ ...asked, repo: mirror })],
];

suite('a resource with spec.webhook.from follows a request', () => {
  for (const [what, isFollowed, follower, hub] of cases)
    test(what, () => {
      assert.deepEqual(endIn(followed(follower, hub)), isFollowed ? ['v1', 'Applied'] : ['main', undefined]);
    });
});

suite('a resource with spec.webhook.from', () => {
  test('follows a request for its hub, and shows its own outcome', () => {
    const hub = hubWith({ request: request(10) });
    const status = followed({}, hub);
    assert.deepEqual(status.target, { ref: 'v1', source: 'Request', requestId: '10' });
    assert.deepEqual(status.lastRequest, { ...request(10), outcome: 'Applied' });
    assert.deepEqual([sourceIn(status)?.status, sourceIn(status)?.reason], ['True', 'HubFound']);
    assert.deepEqual(endIn(followed({ allowedRefs: ['v2'] }, hub)), ['main', 'Ignored']);
    assert.deepEqual(endIn(followed({}, hubWith({ allowedRefs: ['v2'], request: request(10) }))), ['v1', 'Applied']);
  });

  test('uses its own range', () => {
    const query = { kind: 'refs' as const, refs: new Map([['refs/tags/v1.4.0', 'e'.repeat(40)]]) };
    const follower = resourceOf({ from: 'hub', fromSeen: 5, semver: '~1.4' });
    const ends = ['v1.4.0', 'v2.0.0'].map((ref) => {
      const { status } = decideFor(follower, { query, hub: hubWith({ request: request(10, ref) }) });
      return endIn(status);
    });
    assert.deepEqual(ends, [
      ['v1.4.0', 'Applied'],
      ['v1.4.0', 'Ignored'],
    ]);
  });

  test('remembers the time of that edit, whatever its manager edits later', () => {
    const status = followed({ fromSeen: 5 }, hubWith());
    assert.deepEqual([status.observedWebhookFrom, status.observedWebhookFromTime], ['hub', at(5)]);
    const later = followed({ status, fromSeen: 50 }, hubWith({ request: request(10) }));
    assert.deepEqual([...endIn(later), later.observedWebhookFromTime], ['v1', 'Applied', at(5)]);
  });

  test('ignores older requests of the next hub, and of itself after it was removed', () => {
    const status = followed({}, hubWith({ request: request(10) }));
    const other = { ...hubWith({ request: request(15, 'v2') }), name: 'other' };
    const moved = { from: 'other', fromSeen: 20, status };
    assert.deepEqual(endIn(decideFor(resourceOf(moved), { hub: other }).status), ['v1', 'Applied']);
    const removed = { ...resourceOf({ status, fromSeen: 20, request: request(15, 'v2') }) };
    const after = decideFor(removed).status;
    assert.deepEqual([...endIn(after), after.observedWebhookFrom], ['v1', 'Applied', undefined]);
    assert.equal(sourceIn(after), undefined);
    const own = { status: after, fromSeen: 20, request: request(25, 'v2') };
    assert.deepEqual(endIn(decideFor(resourceOf(own)).status), ['v2', 'Applied']);
  });

  test('ignores requests of the time in which its hub followed another repository', () => {
    const status = followed({}, hubWith({ repo: 'https://git.test/b.git' }));
    const hub = hubWith({ request: request(10), edits: 1, editSeen: 20 });
    const after = followed({ status }, hub);
    assert.deepEqual([endIn(after), sourceIn(after)?.reason], [['main', undefined], 'HubFound']);
    assert.deepEqual(endIn(followed({ status: after }, hub)), ['main', undefined]);
    assert.deepEqual(endIn(followed({ status: after }, hubWith({ request: request(20) }))), ['v1', 'Applied']);
  });

  test('ignores them even if the git server was queried when the hub returned', () => {
    const status = followed({}, hubWith({ repo: 'https://git.test/b.git' }));
    const hub = hubWith({ request: request(10), edits: 1, editSeen: 20 });
    const query = { kind: 'querying' as const, forMs: 0 };
    const queried = decideFor(resourceOf({ from: 'hub', fromSeen: 5, status }), { hub, query }).status;
    assert.equal(sourceIn(queried)?.reason, 'HubFound');
    assert.deepEqual(endIn(followed({ status: queried }, hub)), ['main', undefined]);
  });

  test('ignores a request to resolve the ref of its hub again', () => {
    const status = followed({}, hubWith({ request: request(10, 'v2') }));
    const edited = { ref: 'v1', edits: 1, editSeen: 20 };
    const refreshed = { ...request(30), by: REFRESHED_BY };
    assert.deepEqual(endIn(followed({ status }, hubWith({ ...edited, request: refreshed }))), ['v2', 'Applied']);
    assert.deepEqual(endIn(decideFor(hubWith({ request: refreshed })).status), ['v1', 'Applied']);
    assert.deepEqual(endIn(followed({ status }, hubWith({ ...edited, request: request(30) }))), ['v1', 'Applied']);
  });

  test('accepts the repositories that the hub accepts', () => {
    const mirrored = { ...request(10), repo: 'acme/site' };
    const hub = (repositories: string[]) => hubWith({ repositories, request: mirrored });
    assert.deepEqual(endIn(followed({}, hub(['acme/site']))), ['v1', 'Applied']);
    const ignored = followed({ repositories: ['acme/site'] }, hub([]));
    assert.deepEqual(endIn(ignored), ['main', 'Ignored']);
    assert.match(ignored.lastRequest?.message ?? '', /add it to spec\.webhook\.repositories of GatewaySync hub$/);
  });
});

suite('a follower keeps what it follows', () => {
  const before = followed({}, hubWith({ request: request(10) }));
  const next = { request: request(20, 'v2') };
  const cases: [name: string, hub: ObservedGatewaySync | undefined, reason: string, asked?: Asked][] = [
    ["if its hub doesn't exist", undefined, 'HubNotFound'],
    ['if its hub has another name', { ...hubWith(next), name: 'other' }, 'HubNotFound'],
    ['if its hub follows another one', hubWith({ ...next, from: 'main' }), 'HubFollowsAnother'],
    ['if its hub has another repository', hubWith({ ...next, repo: 'https://git.test/b.git' }), 'OtherRepository'],
    ['if it has another repository', hubWith(next), 'OtherRepository', { repo: 'https://git.test/b.git' }],
  ];
  for (const [name, hub, reason, asked = {}] of cases)
    test(name, () => {
      const status = followed({ status: before, ...asked }, hub);
      const source = sourceIn(status);
      assert.deepEqual([source?.status, source?.reason], ['False', reason]);
      if (!asked.repo) assert.deepEqual(endIn(status), ['v1', 'Applied']);
      else assert.deepEqual(endIn(status), ['main', 'Superseded']);
    });

  test('and shows the remedy if its hub follows it', () => {
    const message = (from: string) => sourceIn(followed({}, hubWith({ from })))?.message ?? '';
    assert.match(message('main'), /has spec\.webhook\.from as well; specify main instead/);
    assert.match(message('app'), /has spec\.webhook\.from as well; remove it from one of the two/);
  });

  test('but not a request that waits for the git server', () => {
    const pending = resourceOf({ from: 'hub', fromSeen: 5 });
    const hub = hubWith({ request: request(10, 'v9') });
    const { status } = decideFor(pending, { hub, now: second(11) });
    assert.equal(status.lastRequest?.outcome, 'Pending');
    const { lastRequest } = followed({ status }, undefined);
    assert.deepEqual([lastRequest?.id, lastRequest?.outcome], ['10', 'Ignored']);
  });
});

test('followers end on the newest request since their edit, as if it were their own', () => {
  const kind = fc.constantFrom('hub' as const, 'own' as const, 'edit' as const, 'switch' as const);
  const step = fc.record({ kind, ref: fc.constantFrom('v1', 'v2', 'main', 'v9'), isSeen: fc.boolean() });
  const property = (steps: (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
    let hub: Asked = {};
    let follower: Asked = { from: 'hub', fromSeen: 0 };
    /** A resource with the same edits, and with only the requests that the follower handles. */
    let twin: Asked = {};
    const reconcile = (now: number) => {
      follower.status = decideFor(resourceOf(follower), { hub: hubWith(hub), now: second(now) }).status;
      twin.status = decideFor(resourceOf(twin), { now: second(now) }).status;
    };
    for (const [index, { kind, ref, isSeen }] of steps.entries()) {
      const seconds = 100 * (index + 1);
      const asked = { request: request(seconds, ref) };
      const edit = { ref: ref === 'v2' ? 'next' : ref, edits: seconds, editSeen: seconds };
      // A request that the controller hasn't seen before the switch is older than it.
      if (isSeen || kind === 'switch') reconcile(seconds - 1);
      const { from, ...unset } = follower;
      const counts = (from === undefined ? 'own' : 'hub') === kind;
      if (kind === 'hub') hub = { ...hub, ...asked };
      if (kind === 'own') follower = { ...follower, ...asked };
      if (kind === 'edit') follower = { ...follower, ...edit };
      if (kind === 'switch') follower = { ...unset, fromSeen: seconds, ...(from === undefined && { from: 'hub' }) };
      if (counts || kind === 'edit') twin = { ...twin, ...(counts ? asked : edit) };
      if (kind === 'switch') reconcile(seconds + 1);
    }
    reconcile(100_000);
    const { status } = follower;
    assert.deepEqual([status?.target, status?.lastRequest], [twin.status?.target, twin.status?.lastRequest]);
    reconcile(200_000);
    assert.deepEqual(follower.status, status, 'no work is left');
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 10 }), property), { numRuns: runs(1_000) });
});
