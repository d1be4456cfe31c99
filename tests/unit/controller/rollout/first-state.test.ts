import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { step } from '../../../../controller/rollout/machine.ts';
import type { RolloutInput } from '../../../../controller/rollout/rollout-input.ts';
import { gatewaysOf, inputOf, makeWorld, type Setup } from './model.ts';

const setup: Setup = { spec: { waves: [{ name: 'canary', gateways: 1 }] }, fits: [[true], [true]], bad: [] };
const world = makeWorld(setup);
const releaseOf = (commit: string) => ({ commit, ref: 'main', revision: 'r' });
const newest = releaseOf('new');
const delivered = releaseOf('delivered');
const lastComplete = releaseOf('complete');

/** Both gateways report a commit. */
function reporting(commit: string, revision: string | undefined): Pick<RolloutInput, 'gateways'> {
  const report = { rollout: undefined, commit, revision, state: 'healthy' } as const;
  return { gateways: gatewaysOf(world, setup).map((gateway) => ({ ...gateway, report })) };
}
const inRollout = reporting('any', 'r');
const inNone = reporting('any', undefined);

/** The phase, the commit that gateways with the new release have, and the one of the others. */
function firstOf(given: Partial<RolloutInput>) {
  const input = { ...inputOf(world, setup), newest, ...given };
  const { phase, commit, stableCommit, admission = [] } = step(undefined, input) ?? {};
  return [phase, commit, stableCommit, admission.map(({ admitted }) => admitted)];
}

suite('without a rollout in the status, the stable release is', () => {
  const all = ['all', 'all'];
  /** The newest one then starts in the first wave. */
  const begun = ['all', ''];
  for (const [what, given, expected] of [
    ['the newest one of a new resource', {}, ['Complete', 'new', 'new', all]],
    ['the complete one if no gateway has files', { lastComplete }, ['Progressing', 'new', 'complete', begun]],
    [
      'the complete one if gateways had a rollout',
      { lastComplete, ...inRollout },
      ['Progressing', 'new', 'complete', begun],
    ],
    [
      'the delivered one if there was no rollout',
      { delivered, lastComplete, ...reporting('delivered', undefined) },
      ['Progressing', 'new', 'delivered', begun],
    ],
    [
      'the complete one if no gateway has the commit in the status, which is the newest after a loss',
      { delivered: newest, lastComplete, ...inNone },
      ['Progressing', 'new', 'complete', begun],
    ],
    [
      'unknown if no gateway has the commit in the status, and no release is complete',
      { delivered: newest, ...inNone },
      ['Progressing', 'new', undefined, begun],
    ],
    ['the complete one if the status was lost', { lastComplete, ...inNone }, ['Progressing', 'new', 'complete', begun]],
    ['unknown if nothing is left but gateways', inRollout, ['Progressing', 'new', undefined, begun]],
    ['unknown if gateways without a rollout are left', inNone, ['Progressing', 'new', undefined, begun]],
    [
      'unknown if gateways had a rollout that the status lacks',
      { delivered, ...inRollout },
      ['Progressing', 'new', undefined, begun],
    ],
    [
      'unknown if the newest one was rejected',
      { rejected: [newest], ...inRollout },
      ['Stopped', 'new', undefined, ['', '']],
    ],
    ['unknown until there is a newest one', { newest: undefined, ...inRollout }, [undefined, undefined, undefined, []]],
  ] as const)
    test(what, () => {
      assert.deepEqual(firstOf(given), expected);
    });
});
