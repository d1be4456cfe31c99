import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readIntents } from '../../../../controller/intent/intents.ts';
import { neededRefs } from '../../../../controller/intent/resolve-ref.ts';
import type { FoundRefs, QueryResult } from '../../../../controller/polling/query-result.ts';
import { WantedRefs } from '../../../../controller/polling/ref-query.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { fc, runs } from '../../../support/property.ts';
import { checkRangeRest, checkRangeStep } from '../support/range-rules.ts';
import { type Asked, at, decideFor, resourceOf, second } from '../support/requested-resource.ts';

const TAGS = ['v1.3.9', 'v1.4.0', 'v1.4.1', '1.4.1', 'v1.4.2-rc.1', 'v1.4.2', 'v2.0.0', 'v3.0.0-rc.1', 'latest'];
const RANGES = ['~1.4', '>=1.4 <2', '*', '>=1.4.2-0', '<1.4', '>=9'];

const tag = fc.constantFrom(...TAGS);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('push' as const), tag, commit: fc.constantFrom('a', 'b', 'c') }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('delete' as const), tag }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('request' as const), tag }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('edit' as const), range: fc.constantFrom(...RANGES) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('down' as const), remembers: fc.boolean() }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface World {
  tags: Map<string, string>;
  range: string;
  status: GatewaySyncStatus;
  request: Asked['request'];
  lastGood: FoundRefs | undefined;
}

const resourceIn = ({ range, status, request }: World) =>
  resourceOf({ semver: range, status, ...(request && { request }) });

/** Queries the repository for what the resource needs, as a poll does. */
function query(world: World): FoundRefs {
  const { prefixes, range } = neededRefs(readIntents(resourceIn(world)));
  const wanted = new WantedRefs({ prefixes, ranges: [range ?? ''] });
  for (const [name, commit] of world.tags) wanted.add(`refs/tags/${name}`, commit);
  return wanted.found;
}

function reconcile(world: World, result: QueryResult, now: number): GatewaySyncStatus {
  return decideFor(resourceIn(world), { query: result, now: second(now) }).status;
}

test('a range is never left, never goes back, and always converges, whatever happens', () => {
  const property = (steps: Step[]) => {
    const world: World = { tags: new Map(), range: '~1.4', status: {}, request: undefined, lastGood: undefined };
    for (const [index, each] of steps.entries()) {
      const now = 100 + index * 5;
      if (each.kind === 'push') world.tags.set(each.tag, each.commit.repeat(40));
      if (each.kind === 'delete') world.tags.delete(each.tag);
      if (each.kind === 'request') world.request = { ref: each.tag, at: at(now), id: `${index}` };
      if (each.kind === 'edit') world.range = each.range;
      const before = world.status;
      if (each.kind === 'down') {
        const error = new TransientError('down', { code: 'git.timeout', reason: 'GitTimeout' });
        const lastGood = each.remembers ? world.lastGood : undefined;
        world.status = reconcile(world, { kind: 'error', error, lastGood, retryAfterMs: 1 }, now);
      } else {
        world.lastGood = query(world);
        world.status = reconcile(world, { kind: 'refs', ...world.lastGood }, now);
      }
      checkRangeStep(before, world.status);
      const { range } = world.status.target ?? {};
      if (range !== before.target?.range) assert.equal(range, world.range);
    }
    const rest = (now: number) => reconcile(world, { kind: 'refs', ...query(world) }, now);
    world.status = rest(10_000);
    checkRangeRest(world);
    assert.notEqual(world.status.lastRequest?.outcome, 'Pending');
    assert.deepEqual(rest(20_000), world.status, 'nothing is left to do');
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 15 }), property), { numRuns: runs(1_500) });
});
