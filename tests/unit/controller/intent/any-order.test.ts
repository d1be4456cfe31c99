import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueryResult } from '../../../../controller/polling/query-result.ts';
import type { GatewaySyncStatus, RequestOutcome } from '../../../../shared/api/gateway-sync-status.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { fc, runs } from '../../../support/property.ts';
import { type Asked, at, decideFor, resourceOf, second as secondOf } from '../support/requested-resource.ts';

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

/** The time of an edit is the time at which it was delivered, so no later event can precede it. */
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

/**
 * How a request or a push is made: with a time; with none; or by a user who edits the ref of the stored request, whose
 * other annotations stay.
 */
const HOW = ['timed', 'untimed', 'by hand'] as const;
type Made = Arrival & { how: (typeof HOW)[number] };

const how = fc.constantFrom(...HOW);
const made = (kind: Arrival['kind'], ...all: string[]) =>
  fc.record({ kind: fc.constant(kind), ref: fc.constantFrom(...all), time: fc.nat(50), how });

/** After an event: no reconcile, a reconcile, one while the git server is unavailable, or one and then a new leader. */
const LOOKS = ['none', 'look', 'down', 'look, restart', 'down, restart'] as const;

/** Many valid events, each at a different time. */
const streams = fc
  .uniqueArray(fc.oneof(made('edit', ''), made('request', 'v1', 'v2'), made('push', 'refs/heads/dev')), {
    selector: ({ time: unique }) => unique,
    minLength: 1,
    maxLength: 8,
  })
  .chain((all) =>
    fc.record({
      // Edits, and events without a time, arrive in the order of their times; other events can be late.
      order: fc.array(fc.nat(20), { minLength: all.length, maxLength: all.length }).map((delays) =>
        all
          .map((arrival, index) => ({
            arrival,
            at: arrival.time + (arrival.kind === 'edit' || arrival.how !== 'timed' ? 0 : (delays[index] ?? 0)),
          }))
          .sort((a, b) => a.at - b.at || a.arrival.time - b.arrival.time)
          .map(({ arrival, at: arrived }) => ({ ...arrival, arrived }))
          .map((arrival, index, others) => ({ ...arrival, ...distinctEdits(arrival, index, others) })),
      ),
      looks: fc.array(fc.constantFrom(...LOOKS), { minLength: all.length, maxLength: all.length }),
    }),
  );

const initial: Asked = { allowedRefs: ['dev', 'gone', 'v*'] };

function arrive(asked: Asked, { kind, ref, time: second }: Arrival): Asked {
  if (kind === 'edit') return { ...asked, ref, edits: (asked.edits ?? 0) + 1, editSeen: second };
  // The API server refuses a request or a push that is older than the stored one.
  const stored = asked[kind]?.at;
  if (stored !== undefined && stored > at(second)) return asked;
  return { ...asked, [kind]: { ref, at: at(second) } };
}

/** Makes an event in one of the ways, which a controller then sees; undefined if the API server has nothing to store. */
function make(
  asked: Asked,
  { kind, ref, time: second, how: way, arrived }: Made & { arrived: number },
): Asked | undefined {
  if (kind === 'edit') return arrive(asked, { kind, ref, time: second });
  const { at: storedAt, ref: storedRef } = asked[kind] ?? {};
  const { id = '' } = asked.request ?? {};
  const seenAt = secondOf(arrived);
  const isByHand = way === 'by hand' && kind === 'request' && id !== '';
  // A ref that is edited and restored between two reconciles is the one that was handled.
  const { lastRequest } = asked.status ?? {};
  const isRestored = lastRequest?.id === id && lastRequest.ref === ref;
  if (isByHand && (ref === storedRef || isRestored)) return undefined;
  if (isByHand) return { ...asked, request: { ...asked.request, ref, edited: !id.startsWith(ref), seenAt } };
  const identity = kind === 'request' ? { id: `${ref}@${second}` } : {};
  if (way === 'timed' && storedAt !== undefined && storedAt > at(second)) return undefined;
  // Without a time and an ID, it would be the one that is stored or was handled.
  if (way !== 'timed' && kind === 'push' && storedRef === ref) return undefined;
  return { ...asked, [kind]: { ref, ...identity, ...(way === 'timed' && { at: at(second) }), seenAt } };
}

/** Another replica leads, which has seen nothing before. */
function restart(asked: Asked, seenAt: number): Asked {
  const again = { seenAt: secondOf(seenAt) };
  return {
    ...asked,
    ...(asked.edits && { editSeen: seenAt }),
    ...(asked.request && { request: { ...asked.request, ...again } }),
    ...(asked.push && { push: { ...asked.push, ...again } }),
  };
}

const down: QueryResult = {
  kind: 'error',
  error: new TransientError('unavailable', { code: 'git.unreachable', reason: 'GitUnreachable' }),
  lastGood: undefined,
  retryAfterMs: 1_000,
};

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
      const stored: Partial<Record<Arrival['kind'], Arrival>> = {};
      let unresolved: Arrival[] = [];
      let newest: Arrival | undefined;
      for (const [index, arrival] of order.entries()) {
        const next = make(asked, arrival);
        const replaced = stored[arrival.kind];
        // A late event can replace one without a time that no reconcile has resolved, which is lost then.
        const isLost = unresolved.some((each) => each === replaced && each.time > arrival.time);
        if (!next || isLost) continue;
        asked = next;
        stored[arrival.kind] = arrival;
        unresolved.push(arrival);
        if (!newest || arrival.time > newest.time) newest = arrival;
        const what = looks[index] ?? 'none';
        if (what.startsWith('look')) {
          asked = look(asked);
          unresolved = [];
        }
        if (what.startsWith('down')) asked = { ...asked, status: decideFor(resourceOf(asked), { query: down }).status };
        if (what.endsWith('restart')) asked = restart(asked, 1_000 + index);
      }
      if (!newest) return;
      const status = look(asked).status ?? {};
      assert.equal(status.target?.ref, newest.ref);
      const outcomes = { request: status.lastRequest?.outcome, push: status.lastPush?.outcome };
      for (const kind of ['request', 'push'] as const) {
        // A late push to the followed branch only confirms it.
        const holds: boolean = stored[kind] === newest || (kind === 'push' && newest.kind === 'push');
        const outcome: RequestOutcome = holds ? 'Applied' : 'Superseded';
        assert.equal(outcomes[kind], stored[kind] && outcome);
      }
    }),
    { numRuns: runs(2_000) },
  );
});
