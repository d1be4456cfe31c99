import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isEqual, mergePatchOf } from '../../../../controller/reconcile/merge-patch.ts';
import {
  endWrite,
  noteRefused,
  noteSent,
  noteWatched,
  noteWritten,
  type StatusMemory,
  stillApplies,
  storedIn,
} from '../../../../controller/reconcile/status-memory.ts';
import { StatusWriter } from '../../../../controller/reconcile/status-writer.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { clientWith } from '../../../support/client-with.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';
import { fc } from '../../../support/property.ts';

/** RFC 7386, section 2. */
function applyPatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyPatch(result[key], value);
  }
  return result;
}

const leaf = fc.oneof(fc.integer({ max: 2, min: 0 }), fc.boolean(), fc.constantFrom('', 'a'));
const json = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('any'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), json, { noNullPrototype: true });

suite('a merge patch of a status', () => {
  test('from undefined, or to undefined, counts as a difference', () => {
    assert.deepEqual([isEqual({ a: 1 }, undefined), isEqual(undefined, { a: 1 })], [false, false]);
    assert.deepEqual([isEqual(undefined, undefined), isEqual({ a: 1, b: undefined }, { a: 1 })], [true, true]);
  });

  test('turns one status into the other, and is empty if they are equal', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch = mergePatchOf(before, after);
        assert.deepEqual(patch === undefined ? before : applyPatch(before, patch), after);
        assert.equal(mergePatchOf(after, structuredClone(after)), undefined);
      }),
    );
  });

  test('contains the new value of each key that differs, and no others', () => {
    const before = { a: 1, b: { c: 1, d: 2 }, e: [1], f: 0, g: { h: 1 } };
    assert.deepEqual(mergePatchOf(before, { a: 1, b: { c: 2, d: 2 }, e: [1, 2], g: [1] }), {
      b: { c: 2 },
      e: [1, 2],
      f: null,
      g: [1],
    });
    assert.equal(mergePatchOf({ a: undefined, b: 1 }, { b: 1, c: undefined }), undefined);
  });
});

/** One stored resource, with the API server's rule for a patch with a resourceVersion, and the watched versions. */
function arrange() {
  const stored = {
    uid: 'uid',
    version: 1,
    generation: 1,
    annotations: {} as Record<string, string>,
    status: {} as GatewaySyncStatus,
  };
  const raw = () => {
    const { uid, version, generation, annotations, status } = stored;
    const metadata = { uid, resourceVersion: `${version}`, generation, annotations };
    return gatewaySyncOf({ metadata, spec: { rollout: {} }, status });
  };
  const object = (): ObservedGatewaySync => projectGatewaySync(raw(), undefined, 0);
  let cached = object();
  const repairs = { count: 0 };
  const lease = { isHeld: true };
  const network = { losesAnswers: false };
  const clock = { now: 0 };
  const client = clientWith({
    getAs: async () => raw(),
    mergePatch: async (_: string, { metadata, status }: { metadata: { resourceVersion: string }; status: object }) => {
      if (!lease.isHeld) throw new Error('not written: another replica leads, or is about to');
      if (metadata.resourceVersion !== String(stored.version)) throw new ApiError(409, '{}');
      change(applyPatch(stored.status, status) as GatewaySyncStatus);
      if (network.losesAnswers) throw new Error('socket hang up');
      return raw();
    },
  });
  const repair = () => repairs.count++;
  const writer = new StatusWriter({ client, cached: () => cached, repair, now: () => clock.now });
  const change = (status = stored.status, edit: Partial<Pick<typeof stored, 'generation' | 'annotations'>> = {}) => {
    Object.assign(stored, { version: stored.version + 1, status, ...edit });
  };
  /** Delivers the stored version to the watch. */
  const watch = () => {
    const previous = cached;
    cached = object();
    writer.onWatchEvent(cached, previous);
  };
  return { stored, change, watch, writer, repairs, lease, network, clock };
}

const rollout = { number: 2, phase: 'Progressing' } as RolloutStatus;
const stopped = { ...rollout, phase: 'Stopped' } as RolloutStatus;

suite('the status of a resource', () => {
  test('is written even if another client changed the resource in the meantime', async () => {
    const { stored, change, writer, repairs } = arrange();
    change(); // the receiver annotates it
    await writer.write({ observedGeneration: 1 });
    assert.deepEqual(stored.status, { observedGeneration: 1 });
    assert.equal(repairs.count, 0);
  });

  test("doesn't count as written while it is throttled, and is written later", async () => {
    const { stored, writer, lease } = arrange();
    lease.isHeld = false;
    await assert.rejects(writer.write({ observedGeneration: 1 }), /not written/);
    assert.deepEqual(stored.status, {});
    await writer.write({});
    lease.isHeld = true;
    await writer.write({ observedGeneration: 1 });
    assert.deepEqual(stored.status, { observedGeneration: 1 });
  });

  test('is ours in the end if another client changed it at the same moment', async () => {
    const { stored, change, watch, writer } = arrange();
    await writer.write({ observedGeneration: 1 });
    change({ observedRef: 'evil' });
    await assert.rejects(writer.write({ observedGeneration: 1, profileCount: 1 }), { status: 409 });
    watch();
    await writer.write({ observedGeneration: 1, profileCount: 1 });
    assert.deepEqual(stored.status, { observedGeneration: 1, profileCount: 1 });
  });

  test("isn't written to a new resource of the same name that takes its place during a reconcile", async () => {
    const { stored, change, watch, writer } = arrange();
    const seen = writer.latest();
    stored.uid = 'next';
    change();
    watch();
    await assert.rejects(writer.write({ observedGeneration: 1 }, seen), { code: 'status.changed' });
    assert.deepEqual(stored.status, {});
  });

  test('that admits more gateways is decided again after an order that came first', async () => {
    const { stored, change, writer } = arrange();
    change({}, { annotations: { 'sync.io/rollback': 'previous' } });
    await assert.rejects(writer.write({ rollout }), { status: 409 });
    assert.deepEqual(stored.status, {});
  });

  test('is written again if a restored backup reverted it before the watch delivered it', async () => {
    const { stored, watch, writer, repairs, clock } = arrange();
    const backup = { ...stored };
    await writer.write({ observedGeneration: 1 });
    Object.assign(stored, backup);
    watch();
    clock.now += 5 * 60_000;
    await writer.write({ observedGeneration: 1 });
    assert.deepEqual(stored.status, { observedGeneration: 1 });
    assert.equal(repairs.count, 0);
  });

  test("doesn't count as foreign if the watch delivers it late", async () => {
    const { watch, writer, repairs, clock } = arrange();
    await writer.write({ observedGeneration: 1 });
    clock.now += 5 * 60_000;
    watch();
    assert.equal(repairs.count, 0);
    assert.deepEqual(writer.latest()?.status, { observedGeneration: 1 });
  });

  test('is decided by the spec of our last write, even before the watch delivers it', async () => {
    const { change, writer } = arrange();
    change({}, { generation: 2 });
    await writer.write({ observedGeneration: 1 });
    assert.equal(writer.latest()?.generation, 2);
  });

  test('is decided again if another leader changed it before the write', async () => {
    const { stored, change, watch, writer, repairs } = arrange();
    const seen = writer.latest();
    change({ rollout: stopped });
    watch();
    await assert.rejects(writer.write({ rollout }, seen), /changed/);
    assert.deepEqual(stored.status, { rollout: stopped });
    assert.equal(repairs.count, 0);
  });

  test('is decided again if the last leader wrote it during our first write, and then counts as our own', async () => {
    const { stored, change, watch, writer, repairs } = arrange();
    change({ rollout: stopped });
    await assert.rejects(writer.write({ rollout }), { status: 409 });
    assert.deepEqual(stored.status, { rollout: stopped });
    watch();
    assert.deepEqual(writer.latest()?.status, { rollout: stopped });
    assert.equal(repairs.count, 0);
  });

  test('is written in any case if it changes nothing of a rollout', async () => {
    const { stored, change, watch, writer } = arrange();
    change({ rollout });
    watch();
    change({ rollout }, { generation: 2 });
    await writer.write({ rollout, observedRef: 'main' });
    assert.deepEqual(stored.status, { rollout, observedRef: 'main' });
  });

  test('is reported, ignored, and repaired if another client changed it later', async () => {
    const { stored, change, watch, writer, repairs } = arrange();
    const status = { observedGeneration: 1, target: { ref: 'main', source: 'Spec' as const } };
    await writer.write(status);
    watch();
    assert.equal(repairs.count, 0);
    for (const other of [{ target: { ref: 'evil', source: 'Request' as const } }, {}]) {
      change(other);
      watch();
      assert.deepEqual(writer.latest()?.status, status);
      await writer.write(status);
      assert.deepEqual(stored.status, status);
      watch();
      assert.deepEqual(writer.latest()?.status, status);
    }
    assert.equal(repairs.count, 2);
  });

  test('counts as our own if its response was lost, until another client changes it', async () => {
    const { change, watch, writer, repairs, network } = arrange();
    const status = { observedGeneration: 1, target: { ref: 'v1', source: 'Request' as const } };
    network.losesAnswers = true;
    await assert.rejects(writer.write(status), /hang up/);
    watch();
    assert.deepEqual(writer.latest()?.status, status);
    assert.equal(repairs.count, 0);
    change({ target: { ref: 'evil', source: 'Request' } });
    watch();
    assert.deepEqual(writer.latest()?.status, status);
    assert.equal(repairs.count, 1);
  });
});

suite('the status that a process remembers', () => {
  const versionOf = (version: number, status: GatewaySyncStatus = {}, more: Partial<ObservedGatewaySync> = {}) =>
    ({ uid: 'uid', resourceVersion: String(version), generation: 1, status, ...more }) as ObservedGatewaySync;
  const refs = (observedRef: string): GatewaySyncStatus => ({ observedRef });
  const ours = refs('ours');
  const theirs = refs('theirs');
  /** The second version was written, and the watch has delivered it. */
  const decided: StatusMemory = { hasDecided: true };
  const previous = versionOf(2, ours);
  const see = (memory: StatusMemory, status: GatewaySyncStatus, more: Partial<ObservedGatewaySync> = {}) =>
    noteWatched(memory, versionOf(3, status, more), previous);

  test('leads to a report of a foreign change if another one is stored, until it is repaired', () => {
    const desired = { uid: 'uid', status: ours };
    assert.deepEqual(see(decided, theirs), { memory: { ...decided, desired }, isForeign: true });
    // The first desired status remains, regardless of later events.
    const again = see({ ...decided, desired: { uid: 'uid', status: refs('first') } }, theirs);
    assert.deepEqual(again.memory.desired, { uid: 'uid', status: refs('first') });
    const other = see({ ...decided, desired: { uid: 'gone', status: refs('first') } }, theirs);
    assert.deepEqual(other.memory.desired, desired);
    const done = { desired: undefined, sent: undefined, hasDecided: true };
    assert.deepEqual(noteWritten(again.memory, undefined), done);
    const writing = { ...again.memory, isWriting: true, written: previous };
    assert.deepEqual(noteWritten(writing, undefined), { ...done, isWriting: true, written: previous });
    assert.deepEqual(noteWritten(writing, versionOf(9)).written, versionOf(9));
  });

  const isOurs: [what: string, StatusMemory, GatewaySyncStatus, more?: Partial<ObservedGatewaySync>][] = [
    ['that says the same', decided, ours],
    ['of before we decided anything', {}, theirs],
    ['of another resource of that name', decided, theirs, { uid: 'next' }],
    ['that is the same version', decided, theirs, { resourceVersion: '2' }],
    ['that comes while we write', { ...decided, isWriting: true }, theirs],
    ['that is older than what we wrote', { ...decided, written: versionOf(4, ours) }, theirs],
  ];
  for (const [what, memory, status, more] of isOurs) {
    test(`isn't foreign: ${what}`, () => {
      assert.deepEqual(see(memory, status, more), { memory, isForeign: false });
    });
  }

  test('is the written one, not the one seen before', () => {
    const memory = { ...decided, written: versionOf(2, theirs) };
    assert.deepEqual(see(memory, theirs), { memory: { ...decided, written: undefined }, isForeign: false });
    assert.equal(see(memory, ours).isForeign, true);
    const writtenNow = { ...decided, written: versionOf(3, ours) };
    assert.equal(see(writtenNow, theirs).isForeign, false, 'the very version that we wrote');
    const first = noteWatched(decided, versionOf(3, theirs), undefined);
    assert.deepEqual(first, { memory: decided, isForeign: false });
  });

  test('counts as written if a sent one turns up, but not a rejected one', () => {
    const sent = noteSent(decided, theirs);
    assert.deepEqual(see(sent, theirs), { memory: noteWritten(sent, undefined), isForeign: false });
    assert.equal(see(noteRefused(sent), theirs).isForeign, true);
    assert.equal(see(noteRefused(noteSent(sent, refs('next'))), theirs).isForeign, false, 'only the last one was');
    assert.equal(see(sent, theirs, { uid: 'next' }).memory, sent, 'that is another resource');
    assert.deepEqual(noteRefused(decided).sent, undefined);
  });

  test('is one of the last four that were sent', () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map(refs);
    const memory = all.reduce(noteSent, decided);
    assert.deepEqual(
      all.map((status) => see(memory, status).isForeign),
      [true, false, false, false, false],
    );
  });

  test('is compared after a write with the object that the watch delivered in the meantime', () => {
    const memory = { ...decided, written: previous };
    assert.deepEqual(endWrite(memory, undefined), { memory, isForeign: false });
    assert.deepEqual(endWrite(decided, versionOf(3, theirs)), { memory: decided, isForeign: false });
    assert.deepEqual(endWrite(memory, versionOf(1, theirs)), { memory, isForeign: false }, 'the watch is behind');
    const desired = { uid: 'uid', status: ours };
    const foreign = { memory: { ...decided, written: undefined, desired }, isForeign: true };
    assert.deepEqual(endWrite(memory, versionOf(3, theirs)), foreign);
  });

  test('is the later of the written and the seen one, for the same resource', () => {
    const written = versionOf(10, ours);
    assert.equal(storedIn({ written }, versionOf(9)), written);
    for (const cached of [versionOf(10), versionOf(9, {}, { uid: 'next' }), undefined])
      assert.equal(storedIn({ written }, cached), cached);
  });

  const order = { orders: { retry: 'x' } };
  const taken: GatewaySyncStatus = { rollout };
  const applies: [what: string, status: GatewaySyncStatus, now: ObservedGatewaySync, expected: boolean][] = [
    ['where nothing has changed', taken, versionOf(3), true],
    ['not where the status is another one', {}, versionOf(3, theirs), false],
    ['after an edit where the rollout stays', theirs, versionOf(3, {}, { generation: 2 }), true],
    ['not after an edit where the rollout goes on', taken, versionOf(3, {}, { generation: 2 }), false],
    ['not after an order where the rollout goes on', taken, versionOf(3, {}, order), false],
    ['after an order where the rollout stays', theirs, versionOf(3, {}, order), true],
    ['not to a new resource of the same name', theirs, versionOf(3, {}, { uid: 'next' }), false],
  ];
  for (const [what, status, now, expected] of applies) {
    test(`can still be written ${what}`, () => assert.equal(stillApplies(status, versionOf(2), now), expected));
  }
});
