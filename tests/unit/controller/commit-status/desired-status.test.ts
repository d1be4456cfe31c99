import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { desiredStatus } from '../../../../controller/commit-status/desired-status.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { ROLLOUT_PHASES, type RolloutStatus } from '../../../../shared/api/rollout.ts';
import { commit, resource, statusOf } from './resource.ts';

const other = 'b'.repeat(40);

/** `success 12/12 gateways`, or undefined. */
function said(status: GatewaySyncStatus, spec: object = {}): string | undefined {
  const wanted = desiredStatus(resource({}, spec), status);
  return wanted && `${wanted.state} ${wanted.description}`;
}

const rolling = (fields: Partial<RolloutStatus>, counts = { total: 12, synced: 1 }) =>
  statusOf(counts, {
    rollout: {
      commit,
      summary: 'canary 1/1',
      message: 'the wave waits',
      stableCommit: 'c'.repeat(40),
      failures: ['gateway-3'],
      verified: 1,
      total: 12,
      ...fields,
    } as RolloutStatus,
  });
const waves = { rollout: { waves: [] } };

suite('the desired commit status', () => {
  test('names the tag that was chosen for a range', () => {
    const target = { ref: 'v1.4.2', range: '~1.4', source: 'Spec' as const };
    const status = statusOf({ total: 1, synced: 1 }, { target, lastSyncRef: 'v1.4.2', observedSemver: '~1.4' });
    const wanted = desiredStatus(resource({ ref: undefined, semver: '~1.4' }), status);
    assert.deepEqual([wanted?.commit, wanted?.state, wanted?.ref], [commit, 'success', 'v1.4.2']);
  });

  for (const [what, status, expected] of [
    ['pending while gateways are on their way', statusOf({ total: 12, synced: 5 }), 'pending 5/12 gateways'],
    ['a success when all have it', statusOf({ total: 12, synced: 12 }), 'success 12/12 gateways'],
    [
      'a success with the gateways that are not to have it named',
      statusOf({ total: 12, synced: 9, paused: 2, dryRun: 1 }),
      'success 9/12 gateways, 2 paused, 1 in a dry run',
    ],
    [
      "a failure with the agent's words",
      statusOf({ total: 12, synced: 11, error: 1 }),
      'failure 11/12 gateways; gateway-3: the data volume is full',
    ],
    [
      'a failure where a pod has no sidecar',
      statusOf({ total: 12, synced: 11, missingSidecar: 1 }),
      'failure 11/12 gateways; delete them',
    ],
    ['pending while there is no gateway', statusOf({ total: 0 }), 'pending no gateway yet'],
    ['nothing before a commit is known', { ...statusOf({ total: 1 }), lastSyncCommit: undefined }, undefined],
    ['nothing while the status is about another spec', statusOf({ total: 1 }, { observedGeneration: 2 }), undefined],
    [
      'nothing while the commit is of another repository',
      statusOf({ total: 1, synced: 1 }, { observedRepo: 'https://github.com/plant/former.git' }),
      undefined,
    ],
  ] as const) {
    test(`is ${what}`, () => assert.equal(said(status as GatewaySyncStatus), expected));
  }

  test('stays unchanged while the resource is paused', () => {
    assert.equal(said(statusOf({ total: 1, synced: 1 }), { paused: true }), undefined);
  });

  test('is a failure if a profile is invalid', () => {
    const { conditions = [], ...rest } = statusOf({ total: 1 });
    const invalid = conditions.map((each) =>
      each.type === 'ProfilesValid'
        ? { ...each, status: 'False' as const, message: 'default: no such variable' }
        : each,
    );
    assert.equal(said({ ...rest, conditions: invalid }), 'failure default: no such variable');
  });
});

suite('the desired commit status of a rollout', () => {
  const expected: Record<(typeof ROLLOUT_PHASES)[number], string | undefined> = {
    Previewing: 'pending 1/12 gateways; canary 1/1',
    Progressing: 'pending 1/12 gateways; canary 1/1',
    Soaking: 'pending 1/12 gateways; canary 1/1',
    AwaitingApproval: 'pending 1/12 gateways; canary 1/1',
    AwaitingWindow: 'pending 1/12 gateways; canary 1/1',
    Complete: 'pending 1/12 gateways',
    Stopped: 'failure the wave waits',
    RollingBack: 'failure failed on gateway-3; rolled back to cccccccc, 1/12 gateways are back',
    RolledBack: 'failure the wave waits',
  };
  for (const phase of ROLLOUT_PHASES)
    test(`in the phase ${phase}`, () => assert.equal(said(rolling({ phase }), waves), expected[phase]));

  test('is a success when all waves are complete and all gateways have the commit', () => {
    assert.equal(said(rolling({ phase: 'Complete' }, { total: 12, synced: 12 }), waves), 'success 12/12 gateways');
  });

  test('belongs to the newer commit while that waits, and not to one that was rolled back', () => {
    const waiting = rolling({ phase: 'Complete', nextCommit: other, message: 'it waits for approval' });
    assert.equal(desiredStatus(resource({}, waves), waiting)?.commit, other);
    assert.equal(said(waiting, waves), 'pending it waits for approval');
    const givenUp = rolling({ phase: 'Complete', nextCommit: other, givenUp: [`${other} 0123`] });
    assert.equal(said(givenUp, waves), undefined);
  });

  test('is that of the pending commit until it has a result, even while a newer one waits', () => {
    const said = (fields: Partial<RolloutStatus>, synced: number, state: 'pending' | 'success') => {
      const status = rolling({ nextCommit: other, ...fields }, { total: 12, synced });
      const commitStatus = { commit, context: 'site', state, posts: 1, time: '2026-01-01T00:00:00Z' };
      const wanted = desiredStatus(resource({}, waves), { ...status, commitStatus });
      return [wanted?.commit, wanted?.state];
    };
    assert.deepEqual(said({ phase: 'Progressing' }, 3, 'pending'), [commit, 'pending']);
    assert.deepEqual(said({ phase: 'Complete' }, 12, 'pending'), [commit, 'success']);
    assert.deepEqual(said({ phase: 'Complete' }, 12, 'success'), [other, 'pending']);
    assert.deepEqual(said({ phase: 'Complete' }, 11, 'pending'), [other, 'pending']);
  });

  test('is that of the rolled back commit even while another one waits', () => {
    for (const phase of ['Stopped', 'RollingBack', 'RolledBack'] as const) {
      const wanted = desiredStatus(resource({}, waves), rolling({ phase, nextCommit: other }));
      assert.deepEqual([wanted?.commit, wanted?.state], [commit, 'failure']);
    }
    const givenUp = rolling({ phase: 'RollingBack', nextCommit: commit, givenUp: [`${commit} 0123`] });
    assert.match(said(givenUp, waves) ?? '', /^failure /);
  });

  test('contains the ref that led to its commit, if the status does', () => {
    const status = { ...rolling({ phase: 'RolledBack', nextCommit: other, ref: 'main' }), lastSyncRef: 'next' };
    const wanted = desiredStatus(resource({}, waves), { ...status, lastSyncCommit: other });
    assert.equal(wanted?.ref, 'main');
    assert.equal(desiredStatus(resource(), { ...statusOf({ total: 1 }), lastSyncRef: 'v1' })?.ref, 'v1');
    assert.equal(desiredStatus(resource(), statusOf({ total: 1 }))?.ref, undefined);
  });

  test('is that of the gateways once spec.rollout has been removed', () => {
    assert.equal(said(rolling({ phase: 'Stopped' })), 'pending 1/12 gateways');
  });
});
