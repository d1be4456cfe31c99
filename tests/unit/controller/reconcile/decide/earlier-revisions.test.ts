import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierRevisions } from '../../../../../controller/reconcile/decide/observe-rollout.ts';

type Observation = Parameters<typeof earlierRevisions>[0];

const revision = (digit: number) => String(digit).repeat(32);

/** A resource of the first revision, and pods that report these. */
function observe(reported: (string | undefined)[], { isLive = true, status = {} } = {}): Observation {
  const pods = reported.map((_, index) => ({ name: `g${index}`, live: isLive }));
  const reportOf = ({ name }: { name: string }) => ({ status: { revision: reported[Number(name.slice(1))] } });
  const gatewaySync = { spec: { revision: revision(1) }, status };
  return { gatewaySync, pods, reportOf } as unknown as Observation;
}

test('after the loss of a status, the revisions that most gateways report are looked up, except for the current one', () => {
  const reported = [1, 1, 1, 2, 3, 3].map(revision);
  assert.deepEqual(earlierRevisions(observe([...reported, undefined])), [revision(3), revision(2)]);
});

test('at most five earlier revisions are looked up, and no text that is none', () => {
  const reported = [2, 3, 4, 5, 6, 7].map(revision);
  assert.deepEqual(earlierRevisions(observe(['../secrets', ...reported])), reported.slice(0, 5));
});

test('no earlier revision is looked up for pods that are gone, or if the status has a rollout', () => {
  const reported = [revision(2)];
  assert.deepEqual(earlierRevisions(observe(reported, { isLive: false })), []);
  assert.deepEqual(earlierRevisions(observe(reported, { status: { rollout: { number: 1 } } })), []);
});
