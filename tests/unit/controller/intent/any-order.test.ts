import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { type Asked, at, decideFor, resourceOf } from '../support/asked-resource.ts';

/** Something that arrives: what it makes of the resource, and the second at which it was made. */
interface Arrival {
  kind: 'edit' | 'request' | 'push';
  ref: string;
  time: number;
}

const time = fc.integer({ min: 1, max: 6 });
const arrivalOf = (kind: Arrival['kind'], ...refs: string[]) =>
  fc.option(fc.record({ kind: fc.constant(kind), ref: fc.constantFrom(...refs), time }), { nil: undefined });

/** Tags, allowed and other branches, what does not exist, and what is no name; at most one of each kind. */
const arrivals = fc
  .tuple(
    arrivalOf('edit', 'next', 'v2', 'dev'),
    arrivalOf('request', 'v1', 'v2', 'dev', 'other', 'v9', 'bad..name'),
    arrivalOf('push', 'refs/heads/dev', 'refs/heads/other', 'refs/heads/gone', 'refs/heads/main'),
  )
  .map((all) => all.filter((arrival) => arrival !== undefined));

/** The same in some order, and after each how often the controller looks, or somebody wipes the status. */
const histories = arrivals.chain((all) =>
  fc.record({
    arrivals: fc.constant(all),
    order: fc.shuffledSubarray(all, { minLength: all.length }).filter(isEditInTime),
    between: fc.array(fc.constantFrom('nothing', 'look', 'look twice', 'wipe'), { minLength: 3, maxLength: 3 }),
    isKnown: fc.boolean(),
  }),
);

/** The time of an edit is that at which the API server stored it, so nothing of a later time can be there before. */
function isEditInTime(order: Arrival[]): boolean {
  const index = order.findIndex(({ kind }) => kind === 'edit');
  return order.slice(0, Math.max(0, index)).every((before) => before.time < (order[index] as Arrival).time);
}

const initial: Asked = { allowedRefs: ['dev', 'gone', 'v*'] };

function arrive(asked: Asked, { kind, ref, time: second }: Arrival): Asked {
  if (kind === 'edit') return { ...asked, ref, refWritten: second };
  return { ...asked, [kind]: { ref, at: at(second) } };
}

function look(asked: Asked): Asked {
  return { ...asked, status: decideFor(resourceOf(asked)).status };
}

/** What counts in the end; words may name another winner on the way. */
const outcomeOf = ({ target, lastSyncCommit, lastRequest, lastPush, observedRef }: GatewaySyncStatus) => ({
  ...{ target, lastSyncCommit, observedRef },
  ...{ request: lastRequest?.outcome, push: lastPush?.outcome },
});

test('whatever the order in which intents arrive, and however often the controller looks, the end is the same', () => {
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
      // Whether a branch was spec.git.ref at the time of a push is not known once that is edited.
      const isOfBefore = inTurn.lastPush?.ref === 'refs/heads/main' && inTurn.observedRef !== 'main';
      const ends = [atOnce, inTurn].map(outcomeOf).map((end) => (isOfBefore ? { ...end, push: undefined } : end));
      assert.deepEqual(ends[1], ends[0]);
      assert.deepEqual(look({ ...asked, status: inTurn }).status, inTurn, 'and stays');
    }),
    { numRuns: 2_000 },
  );
});
