import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Observation } from '../../../../controller/reconcile/observation.ts';
import { rollOut } from '../../../../controller/reconcile/roll-out.ts';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { projectPod } from '../../../../controller/watch/observed-pod.ts';
import type { GatewaySync } from '../../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const [stable, newest] = ['a'.repeat(40), 'b'.repeat(40)];
const frozen = [{ kind: 'Deny' as const }];

const pod = projectPod({
  metadata: {
    ...{ namespace: 'ns', name: 'gateway-0', uid: 'pod', resourceVersion: '1' },
    creationTimestamp: '2026-11-22T11:00:00Z',
  },
  spec: {},
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
} as unknown as Parameters<typeof projectPod>[0]);

interface Case {
  rollout?: object;
  paused?: boolean;
  /** Of the files of the default profile. */
  destination?: string;
  annotations?: Record<string, string>;
  agentVersion?: string;
  isRevisionKept?: boolean;
}

/** The next status, where a commit is followed. */
function next(before: GatewaySyncStatus, what: Case, lastSyncCommit = newest) {
  const { rollout = {}, annotations = {}, agentVersion = '9.9.9', isRevisionKept = true, paused = false } = what;
  const { destination = 'b' } = what;
  const sync = { profiles: { default: { mappings: [{ source: 'a', destination }] } } };
  const gatewaySync = projectGatewaySync({
    metadata: { namespace: 'ns', name: 'app', uid: 'app', resourceVersion: '1', generation: 1, annotations },
    spec: { ...gatewaySpec({ rollout, sync }), paused },
    status: before,
  } as unknown as GatewaySync);
  const status = { state: 'Synced' as const, agentVersion };
  const observation = {
    ...{ gatewaySync, pods: [pod], isRevisionKept },
    reportOf: () => ({ namespace: 'ns', name: 'gateway-0', podUID: 'pod', status }),
  } as unknown as Observation;
  const followed = { observedGeneration: 1, lastSyncCommit, lastSyncRef: 'main' };
  return rollOut(followed, observation, { now, isResolved: true });
}

/** A rollout that is complete, by the rules of a case. */
const complete = (what: Case): GatewaySyncStatus => next({}, what, stable).fields;

const waves = [{ name: 'all', approval: true }];
const givenUp = ({ rollout }: GatewaySyncStatus, what: Case): GatewaySyncStatus => {
  const { revision } = next({}, what).fields.rollout ?? {};
  return { rollout: rollout && { ...rollout, givenUp: [`${newest} ${revision}`] } };
};

suite('what a rollout waits for', () => {
  for (const [what, given, expected] of [
    ['its gateways alone', {}, undefined],
    ['somebody who approves the first wave', { rollout: { waves } }, 'Approval'],
    ['nobody, once it is approved', { rollout: { waves }, annotations: { 'sync.io/approve': newest } }, undefined],
    ['a window', { rollout: { waves, windows: frozen } }, 'Window'],
    ['newer agents', { rollout: { waves, windows: frozen }, agentVersion: '0.0.9' }, 'Agents'],
  ] as const) {
    test(`is ${what}`, () => {
      const { rollout } = next(complete(given), given).fields;
      assert.equal(rollout?.waitsFor, expected);
    });
  }

  test('is somebody who lets a commit be tried again that was given up', () => {
    const { rollout } = next(givenUp(complete({}), {}), {}).fields;
    assert.deepEqual([rollout?.nextCommit, rollout?.waitsFor], [newest, 'Retry']);
  });

  test('is nothing when all is done', () => {
    assert.equal(complete({ rollout: { waves } }).rollout?.waitsFor, undefined);
  });

  test('is a later wave to be approved', () => {
    const rollout = { waves: [{ name: 'none', selector: { matchLabels: { a: 'b' } } }, ...waves] };
    assert.equal(next(complete({ rollout }), { rollout }).fields.rollout?.waitsFor, 'Approval');
  });
});

test('an approval is of the revision of spec.sync that the status named when it came', () => {
  const rollout = { waves };
  const approved = { rollout, annotations: { 'sync.io/approve': newest } };
  const begun = next(complete({ rollout }), approved).fields;
  assert.deepEqual([begun.rollout?.phase, begun.rollout?.commit], ['Progressing', newest]);
  const edited = { ...approved, destination: 'elsewhere' };
  const waiting = next(begun, edited).fields;
  assert.deepEqual([waiting.rollout?.nextCommit, waiting.rollout?.waitsFor], [newest, 'Approval']);
  assert.match(waiting.rollout?.message ?? '', /set before spec\.sync was edited, so remove it first/);
  const removed = next(waiting, { ...edited, annotations: {} }).fields;
  const again = next(removed, edited).fields.rollout;
  assert.deepEqual([again?.phase, again?.waitsFor, again?.nextCommit], ['Progressing', undefined, undefined]);
});

test('an order waits while the resource is paused, and the message says so until it does not', () => {
  const before = next(complete({}), {}).fields;
  const annotations = { 'sync.io/rollback': 'previous' };
  const held = next(before, { paused: true, annotations }).fields;
  assert.equal(held.rollout?.phase, 'Progressing');
  const words = `sync.io/rollback: previous waits until the resource is not paused; ${before.rollout?.message}`;
  assert.equal(held.rollout?.message, words);
  assert.equal(next(held, { paused: true, annotations }).fields.rollout?.message, words);
  assert.equal(next(held, { paused: true }).fields.rollout?.message, before.rollout?.message);
  assert.equal(next(held, { annotations }).fields.rollout?.phase, 'RollingBack');
});

test('each gateway is to have the commit that it was let have', () => {
  const rollout = { waves };
  const before = complete({ rollout });
  assert.equal(next(before, { rollout }).wantedOf(pod).commit, stable);
  const approved = { rollout, annotations: { 'sync.io/approve': newest } };
  assert.equal(next(before, approved).wantedOf(pod).commit, newest);
});

suite('while the revision of spec.sync is not kept', () => {
  const isRevisionKept = false;

  test('nothing begins', () => {
    assert.deepEqual(next({}, { isRevisionKept }).fields, {});
    const { rollout } = next(complete({}), { isRevisionKept }).fields;
    assert.deepEqual([rollout?.phase, rollout?.commit, rollout?.nextCommit], ['Complete', stable, undefined]);
  });

  test('a rollback goes on', () => {
    const before = next(complete({}), {}).fields;
    assert.equal(before.rollout?.phase, 'Progressing');
    const ordered = { isRevisionKept, annotations: { 'sync.io/rollback': 'previous' } };
    const { rollout } = next(before, ordered).fields;
    assert.deepEqual([rollout?.phase, rollout?.stableCommit], ['RollingBack', stable]);
  });
});
