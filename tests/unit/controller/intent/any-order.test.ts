import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { fc, runs } from '../../../support/property.ts';
import { type Asked, at, decideFor, resourceOf } from '../support/requested-resource.ts';

/** An event, its effect on the resource, and the second at which it was made. */
interface Arrival {
  kind: 'edit' | 'request' | 'push';
  ref: string;
  time: number;
}

const time = fc.integer({ min: 1, max: 6 });
const arrivalOf = (kind: Arrival['kind'], ...refs: string[]) =>
  fc.option(fc.record({ kind: fc.constant(kind), ref: fc.constantFrom(...refs), time }), { nil: undefined });

/** Tags, allowed and other branches, missing refs, and invalid names; at most one of each kind. */
const arrivals = fc
  .tuple(
    arrivalOf('edit', 'next', 'v2', 'dev'),
    arrivalOf('request', 'v1', 'v2', 'dev', 'other', 'v9', 'bad..name'),
    arrivalOf('push', 'refs/heads/dev', 'refs/heads/other', 'refs/heads/gone', 'refs/heads/main'),
  )
  .map((all) => all.filter((arrival) => arrival !== undefined));

/** The same events in some order, with reconciles or a wiped status after each. */
const histories = arrivals.chain((all) =>
  fc.record({
    arrivals: fc.constant(all),
    order: fc.shuffledSubarray(all, { minLength: all.length }).filter(isEditInTime),
    between: fc.array(fc.constantFrom('nothing', 'look', 'look twice', 'wipe'), { minLength: 3, maxLength: 3 }),
    isKnown: fc.boolean(),
  }),
);

/** The time of an edit is the time at which it was stored, so no later event can precede it. */
function isEditInTime(order: Arrival[]): boolean {
  const index = order.findIndex(({ kind }) => kind === 'edit');
  return order.slice(0, Math.max(0, index)).every((before) => before.time < (order[index] as Arrival).time);
}

/** An edit that is reverted before a reconcile has no effect, so each has a different ref. */
function distinctEdits(arrival: Arrival, index: number, all: Arrival[]): Arrival {
  if (arrival.kind !== 'edit') return arrival;
  const edits = all.slice(0, index).filter(({ kind }) => kind === 'edit').length;
  return {
    ...arrival,
    ref: ['next', 'other', 'v2', 'refs/heads/next', 'refs/heads/other', 'refs/tags/v2', 'v1', '1'][edits] as string,
  };
}

/** Many valid events, each at a different time. */
const streams = fc
  .uniqueArray(
    fc.oneof(
      fc.record({ kind: fc.constant('edit' as const), ref: fc.constant(''), time: fc.nat(50) }),
      fc.record({ kind: fc.constant('request' as const), ref: fc.constantFrom('v1', 'v2'), time: fc.nat(50) }),
      fc.record({ kind: fc.constant('push' as const), ref: fc.constant('refs/heads/dev'), time: fc.nat(50) }),
    ),
    { selector: ({ time: unique }) => unique, minLength: 1, maxLength: 8 },
  )
  .chain((all) =>
    fc.record({
      // Edits arrive in the order of their times; other events can be late.
      order: fc.array(fc.nat(20), { minLength: all.length, maxLength: all.length }).map((delays) =>
        all
          .map((arrival, index) => ({
            arrival,
            at: arrival.time + (arrival.kind === 'edit' ? 0 : (delays[index] ?? 0)),
          }))
          .sort((a, b) => a.at - b.at || a.arrival.time - b.arrival.time)
          .map(({ arrival }) => arrival)
          .map(distinctEdits),
      ),
      looks: fc.array(fc.boolean(), { minLength: all.length, maxLength: all.length }),
    }),
  );

const initial: Asked = { allowedRefs: ['dev', 'gone', 'v*'] };

function arrive(asked: Asked, { kind, ref, time: second }: Arrival): Asked {
  if (kind === 'edit') return { ...asked, ref, refWritten: second };
  // The API server refuses a request or a push that is older than the stored one.
  const stored = asked[kind]?.at;
  if (stored !== undefined && stored > at(second)) return asked;
  return { ...asked, [kind]: { ref, at: at(second) } };
}

function look(asked: Asked): Asked {
  return { ...asked, status: decideFor(resourceOf(asked)).status };
}

/** The final outcome; messages may name another winner on the way. */
const outcomeOf = ({ target, lastSyncCommit, lastRequest, lastPush, observedRef }: GatewaySyncStatus) => ({
  target,
  lastSyncCommit,
  observedRef,
  request: lastRequest?.outcome,
  push: lastPush?.outcome,
});

test("the order and number of intents and reconciles don't change the result", () => {
  fc.assert(
    fc.property(histories, ({ arrivals: all, order, between, isKnown }) => {
      const start = isKnown ? look(initial) : initial;
      const atOnce = look(all.reduce(arrive, start)).status ?? {};
      let asked = start;
      for (const [index, arrival] of order.entries()) {
        asked = arrive(asked, arrival);
        const what = between[index];
        if (what === 'look' || what === 'look twice') asked = look(asked);
        if (what === 'look twice') asked = look(asked);
        if (what === 'wipe') asked = { ...asked, status: {} };
      }
      const inTurn = look(asked).status ?? {};
      // After an edit, it's unknown whether a branch was spec.git.ref at the time of a push.
      const isOfBefore = inTurn.lastPush?.ref === 'refs/heads/main' && inTurn.observedRef !== 'main';
      const ends = [atOnce, inTurn].map(outcomeOf).map((end) => (isOfBefore ? { ...end, push: undefined } : end));
      assert.deepEqual(ends[1], ends[0]);
      assert.deepEqual(look({ ...asked, status: inTurn }).status, inTurn, 'and stays');
    }),
    { numRuns: runs(2_000) },
  );
});

test('the newest of any number of intents is followed, and only it is reported', () => {
  fc.assert(
    fc.property(streams, ({ order, looks }) => {
      let asked = look(initial);
      for (const [index, arrival] of order.entries()) {
        asked = arrive(asked, arrival);
        if (looks[index]) asked = look(asked);
      }
      const status = look(asked).status ?? {};
      const newest = order.toSorted((a, b) => b.time - a.time)[0] as Arrival;
      assert.equal(status.target?.ref, newest.ref);
      const outcomes = { request: status.lastRequest?.outcome, push: status.lastPush?.outcome };
      for (const kind of ['request', 'push'] as const) {
        const isThere = order.some((arrival) => arrival.kind === kind);
        const outcome = newest.kind === kind ? 'Applied' : 'Superseded';
        assert.equal(outcomes[kind], isThere ? outcome : undefined);
      }
    }),
    { numRuns: runs(2_000) },
  );
});
