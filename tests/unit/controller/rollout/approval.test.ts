import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { Fleet } from './fleet.ts';

const PREVIEW = { previewMs: 30_000 };
const approved = { ...PREVIEW, approved: 'B', approvedRevision: 'r' };

const gated: RolloutSpec = {
  waves: [{ name: 'canary' }, { name: 'two', approval: true }, { name: 'three', approval: true }],
};
/** One gateway in each wave, and one in the rest. */
const fits = [
  [true, false, false],
  [false, true, false],
  [false, false, true],
  [false, false, false],
];

const digest = (letter: string) => ({ digest: letter.repeat(64) });
const short = (...letters: string[]) => letters.map((letter) => letter.repeat(16));
const approvedIn = ({ rollout }: Fleet) => rollout.handled?.approvedDigests;
const phaseOf = ({ rollout: { phase, wave } }: Fleet) => [phase, wave].filter(Boolean).join(' ');

/** A commit whose preview is over, with the change of each gateway. */
function previewed(letters: string, more = {}): Fleet {
  const fleet = new Fleet(gated, fits);
  fleet.gateways = fleet.gateways.map((gateway) => ({ ...gateway, previews: true }));
  fleet.more = { ...PREVIEW, ...more };
  fleet.look();
  for (const [index, letter] of [...letters].entries()) fleet.plan('B', [index], digest(letter));
  fleet.look();
  return fleet;
}

/** A healthy gateway with the commit. Its agent no longer reports a preview. */
function deliver(fleet: Fleet, index: number): void {
  fleet.well(index);
  silence(fleet, index);
  fleet.look();
}

function silence(fleet: Fleet, index: number): void {
  fleet.gateways[index] = { ...(fleet.gateways[index] as RolloutGateway), plan: undefined };
}

suite('an approval is not asked for again', () => {
  test('if a gateway of a wave that needs none reports other changes again and again', () => {
    const fleet = previewed('aabb', approved);
    deliver(fleet, 0);
    for (const letter of 'cde') {
      fleet.plan('B', [3], digest(letter));
      fleet.look();
      assert.equal(phaseOf(fleet), 'Progressing two');
    }
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });

  test('if a gateway of a completed wave reports another change', () => {
    const fleet = previewed('aabb', approved);
    deliver(fleet, 0);
    fleet.gateways.push({ ...(fleet.gateways[1] as RolloutGateway), name: 'late', key: '99', createdAt: fleet.now });
    fleet.plan('B', [4], digest('c'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });
});

test('an approval is asked for again if a gateway of a later wave that needs one reports another change', () => {
  const fleet = previewed('aabb', approved);
  fleet.plan('B', [2], digest('c'));
  deliver(fleet, 0);
  assert.equal(phaseOf(fleet), 'AwaitingApproval two');
});

test('many different changes in waves that need no approval do not make it one of the commit', () => {
  const fleet = previewed('aabb');
  const [, , , last] = fleet.gateways as [unknown, unknown, unknown, RolloutGateway];
  for (let index = 0; index <= BOUNDS.approvedDigests; index += 1) {
    fleet.gateways.push({ ...last, name: `r${index}`, key: `9${index}` });
    fleet.plan('B', [4 + index], { digest: String(index).padStart(64, '0').split('').reverse().join('') });
  }
  fleet.look('B', approved);
  assert.equal(approvedIn(fleet)?.length, BOUNDS.approvedDigests);
  assert.deepEqual(
    short('a', 'b').filter((each) => !approvedIn(fleet)?.includes(each)),
    [],
  );
});
