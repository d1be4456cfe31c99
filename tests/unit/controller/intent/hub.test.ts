import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { REFRESHED_BY } from '../../../../shared/api/names.ts';
import { conditionOf } from '../../../../shared/domain/kubernetes/condition-of.ts';
import { fc, runs } from '../../../support/property.ts';
import { type Asked, at, decideFor, resourceOf, second } from '../support/requested-resource.ts';

/** A hub with the status that it has after its own reconcile, unless it is paused. */
function hubWith(asked: Asked = {}, fields: Partial<ObservedGatewaySync> = {}): ObservedGatewaySync {
  const hub = resourceOf(asked);
  return { ...hub, name: 'hub', ...(!asked.paused && { status: decideFor(hub).status }), ...fields };
}

const request = (seconds: number, ref = 'v1') => ({ ref, id: `${seconds}`, at: at(seconds) });

/** The status of a follower of `hub` that has handled nothing yet. */
function followed(asked: Asked, hub: ObservedGatewaySync | undefined): GatewaySyncStatus {
  return decideFor(resourceOf({ from: 'hub', ...asked }), hub && { hub }).status;
}

/** The status of a new follower before the git server shows what its hub follows. */
function pendingOf(hub: ObservedGatewaySync): GatewaySyncStatus {
  const query = { kind: 'refs' as const, refs: new Map([['refs/heads/main', 'a'.repeat(40)]]) };
  return decideFor(resourceOf({ from: 'hub' }), { hub, query, now: second(11) }).status;
}

const sourceIn = ({ conditions }: GatewaySyncStatus) => conditionOf(conditions, 'WebhookSource');
const endIn = ({ target, lastRequest }: GatewaySyncStatus) => [target?.ref, lastRequest?.outcome];

const asked = { request: request(10) };
const mirror = 'https://git.test/acme/site';
const applied = ['v1', 'Applied'];
const nothing = ['main', undefined];
/** Whether the follower follows the ref of its hub. */
const cases: [what: string, end: unknown[], follower: Asked, hub: ObservedGatewaySync][] = [
  ['if it was requested', applied, {}, hubWith(asked)],
  ['even if there is a newer request for itself', applied, { request: request(20, 'v2') }, hubWith(asked)],
  [
    'even if the request is older than itself',
    applied,
    {},
    hubWith({ request: request(-60), status: { observedRef: 'main' } }),
  ],
  ['but not if it is in the spec', nothing, asked, hubWith({ ref: 'v1' })],
  ['but not if it was pushed', nothing, {}, hubWith({ push: { at: at(10) }, allowedRefs: ['dev'] })],
  ['but not if the hub ignores the request', nothing, {}, hubWith({ ...asked, allowedRefs: ['v2'] })],
  ['but not before the hub does', nothing, {}, hubWith({ ...asked, paused: true })],
  ['but not if it was edited later', ['next', 'Superseded'], { ref: 'next', edits: 1, editSeen: 20 }, hubWith(asked)],
  ['but not if it allows others', ['main', 'Ignored'], { allowedRefs: ['v2'] }, hubWith(asked)],
  ['if the repository has another spelling', applied, {}, hubWith({ ...asked, repo: 'git@ssh.git.test:App' })],
  ['if the repository is a mirror', applied, { repositories: ['acme/site'] }, hubWith({ ...asked, repo: mirror })],
  [
    'but not if it is from another repository',
    nothing,
    {},
    hubWith({ status: { ...hubWith(asked).status, observedRepo: 'https://git.test/b.git' }, paused: true }),
  ],
];

suite('a resource with spec.webhook.from follows the ref of its hub', () => {
  for (const [what, end, follower, hub] of cases)
    test(what, () => {
      assert.deepEqual(endIn(followed(follower, hub)), end);
    });
});

suite('a resource with spec.webhook.from', () => {
  test('follows a request for its hub, and shows its own outcome', () => {
    const status = followed({}, hubWith(asked));
    assert.deepEqual(status.target, { ref: 'v1', source: 'Request', requestId: '10', requestedAt: at(10) });
    assert.deepEqual(status.lastRequest, { ...request(10), outcome: 'Applied' });
    assert.deepEqual([sourceIn(status)?.status, sourceIn(status)?.reason], ['True', 'HubFound']);
  });

  test('uses its own range', () => {
    const query = { kind: 'refs' as const, refs: new Map([['refs/tags/v1.4.0', 'e'.repeat(40)]]) };
    const follower = resourceOf({ from: 'hub', semver: '~1.4' });
    const hubOn = (ref: string) =>
      hubWith({}, { status: { target: { ref, source: 'Request', requestId: '10', requestedAt: at(10) } } });
    const ends = ['v1.4.0', 'v2.0.0'].map((ref) => {
      const { status } = decideFor(follower, { query, hub: hubOn(ref) });
      return endIn(status);
    });
    assert.deepEqual(ends, [
      ['v1.4.0', 'Applied'],
      ['v1.4.0', 'Ignored'],
    ]);
  });

  test('keeps what it follows if the next hub was moved earlier', () => {
    const status = followed({}, hubWith({ request: request(20) }));
    const other = (seconds: number) => ({ ...hubWith({ request: request(seconds, 'v2') }), name: 'other' });
    const end = (seconds: number) =>
      endIn(decideFor(resourceOf({ from: 'other', status }), { hub: other(seconds) }).status);
    assert.deepEqual(end(15), ['v1', 'Superseded']);
    assert.deepEqual(end(25), ['v2', 'Applied']);
  });

  test('handles its own requests again after the field is removed', () => {
    const status = followed({ request: request(15, 'v2') }, hubWith({ request: request(20) }));
    const end = (seconds: number) => endIn(decideFor(resourceOf({ status, request: request(seconds, 'v2') })).status);
    assert.deepEqual(end(15), ['v1', 'Superseded']);
    assert.deepEqual(end(25), ['v2', 'Applied']);
    assert.equal(sourceIn(decideFor(resourceOf({ status })).status), undefined);
  });

  test('ignores a request to resolve the ref of its hub again', () => {
    const status = followed({}, hubWith({ request: request(10, 'v2') }));
    const refreshed = hubWith({ ref: 'v1', request: { ...request(30), by: REFRESHED_BY } });
    assert.deepEqual(endIn(refreshed.status), ['v1', 'Applied']);
    assert.deepEqual(endIn(followed({ status }, refreshed)), ['v2', 'Applied']);
    const ignoring = hubWith({ ref: 'v1', request: request(40, 'other'), status: refreshed.status });
    assert.deepEqual(endIn(ignoring.status), ['v1', 'Ignored']);
    assert.deepEqual(endIn(followed({ status }, ignoring)), ['v2', 'Applied']);
    assert.deepEqual(endIn(followed({ status }, hubWith({ ref: 'v1', request: request(30) }))), ['v1', 'Applied']);
  });

  test('starts with the release that its hub follows, and handles a pending one, even after the hub resolved it again', () => {
    const pending = pendingOf(hubWith(asked));
    assert.equal(pending.lastRequest?.outcome, 'Pending');
    const refreshed = hubWith({ request: { ...request(20), by: REFRESHED_BY }, status: hubWith(asked).status });
    assert.deepEqual(endIn(refreshed.status), applied);
    assert.deepEqual(endIn(followed({}, refreshed)), applied);
    assert.deepEqual(endIn(followed({ status: pending }, refreshed)), applied);
  });

  const allowed = { allowedRefs: ['dev'] };
  const hub = { ...allowed, request: request(10, 'dev') };
  const edited = { ...allowed, ref: 'next', edits: 1, editSeen: 20 };
  const status = followed({ ...edited, status: followed(allowed, hubWith(hub)) }, hubWith(hub));

  test("isn't moved by a push to a branch that was requested earlier", () => {
    assert.deepEqual(endIn(status), ['next', 'Superseded']);
    const pushed = hubWith({ ...hub, push: { at: at(30) }, status: hubWith(hub).status });
    assert.equal(pushed.status.lastPush?.outcome, 'Applied');
    assert.deepEqual(followed({ ...edited, status }, pushed), status);
  });

  test("isn't moved by such a push after another request for the hub", () => {
    assert.deepEqual(endIn(status), ['next', 'Superseded']);
    const byHand = { ...request(25, 'other'), id: '10' };
    for (const other of [{ ...request(25, 'dev'), by: REFRESHED_BY }, request(25, 'other'), byHand]) {
      const asked = hubWith({ ...allowed, request: other, status: hubWith(hub).status });
      assert.deepEqual(followed({ ...edited, status }, asked), status);
      const pushed = hubWith({ ...allowed, request: other, push: { at: at(30) }, status: asked.status });
      assert.equal(pushed.status.lastPush?.outcome, 'Applied');
      assert.deepEqual(followed({ ...edited, status }, pushed), status);
    }
  });

  test('accepts the repositories that the hub accepts', () => {
    const mirrored = { ...request(10), repo: 'acme/site' };
    const hub = (repositories: string[]) => hubWith({ repositories, request: mirrored });
    assert.deepEqual(endIn(followed({}, hub(['acme/site']))), applied);
    assert.deepEqual(endIn(followed({ repositories: ['acme/site'] }, hub([]))), nothing);
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
    assert.match(message('main'), / spec\.webhook\.from .*; .* main\b/);
    assert.match(message('app'), / spec\.webhook\.from (?!.*\bmain\b)/);
  });

  test('but not a request that waits for the git server', () => {
    const status = pendingOf(hubWith(asked));
    assert.equal(status.lastRequest?.outcome, 'Pending');
    const { lastRequest } = followed({ status }, undefined);
    assert.deepEqual([lastRequest?.id, lastRequest?.outcome], ['10', 'Ignored']);
  });
});

test('followers end on the newest of their edits and the requests that their hub applied, as if those were their own', () => {
  const kind = fc.constantFrom('hub' as const, 'own' as const, 'edit' as const, 'switch' as const);
  const step = fc.record({ kind, ref: fc.constantFrom('v1', 'v2', 'main', 'v9'), isSeen: fc.boolean() });
  const property = (steps: (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
    let hub: Asked = {};
    let follower: Asked = { from: 'hub' };
    let hubRequest: Asked['request'];
    let edits: Asked = {};
    let twinStatus: GatewaySyncStatus = {};
    const reconcile = (now: number) => {
      follower = {
        ...follower,
        status: decideFor(resourceOf(follower), { hub: hubWith(hub), now: second(now) }).status,
      };
      const counts = follower.from === undefined ? follower.request : hubRequest;
      const twin = { ...edits, status: twinStatus, ...(counts && { request: counts }) };
      twinStatus = decideFor(resourceOf(twin), { now: second(now) }).status;
    };
    for (const [index, { kind, ref, isSeen }] of steps.entries()) {
      const seconds = 100 * (index + 1);
      const asked = request(seconds, ref);
      if (isSeen) reconcile(seconds - 1);
      const { from, ...unset } = follower;
      if (kind === 'hub') hub = { ...hub, request: asked, status: hubWith(hub).status };
      // The hub has no such tag, so it doesn't follow it.
      if (kind === 'hub' && ref !== 'v9') hubRequest = asked;
      if (kind === 'own') follower = { ...follower, request: asked };
      if (kind === 'edit') edits = { ref: ref === 'v2' ? 'next' : ref, edits: seconds, editSeen: seconds };
      if (kind === 'edit') follower = { ...follower, ...edits };
      if (kind === 'switch') follower = from === undefined ? { ...unset, from: 'hub' } : unset;
    }
    reconcile(100_000);
    const { status } = follower;
    assert.deepEqual([status?.target, status?.lastRequest], [twinStatus.target, twinStatus.lastRequest]);
    reconcile(200_000);
    assert.deepEqual(follower.status, status, 'no work is left');
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 10 }), property), { numRuns: runs(1_000) });
});
