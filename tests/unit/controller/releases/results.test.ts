import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { labelledIn, statusPatchOf, unneededOf, withResults } from '../../../../controller/releases/results.ts';
import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { rolloutStatusOf } from '../../../support/objects.ts';
import { observedReleaseOf } from '../support/observed-release.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const earlier = now - 3_600_000;
const complete = { result: 'Complete', phase: 'Complete', completedAt: earlier } as const;
const rejected = { result: 'Rejected', phase: 'RolledBack', completedAt: earlier } as const;

/** The status of a rollout of one release, with another stable one. */
function rolloutOf(release: ObservedRelease, stable: ObservedRelease, more: Partial<RolloutStatus> = {}) {
  const { commit, ref, revision } = release;
  const stableFields = { stableCommit: stable.commit, stableRef: stable.ref, stableRevision: stable.revision };
  const names = { release: release.release, stableRelease: stable.release };
  return rolloutStatusOf({ commit, ref, revision, ...stableFields, ...names, ...more });
}

/** What the releases have become: label, phase, and whether they were complete. */
const resultsOf = (releases: readonly ObservedRelease[], rollout: RolloutStatus) =>
  withResults(releases, rollout, now).map(
    ({ result, phase, completedAt }) => `${result} ${phase} ${completedAt === undefined ? '' : 'once complete'}`,
  );

const s = observedReleaseOf(1, 'S', complete);
const a = observedReleaseOf(2, 'A', complete);
const b = observedReleaseOf(3, 'B');

suite('a release', () => {
  test('is complete if it is the stable one, from the first time on', () => {
    const rollout = rolloutOf(b, b, { phase: 'Complete' });
    const [, , noted] = withResults([s, a, b], rollout, now);
    assert.deepEqual([noted?.result, noted?.phase, noted?.completedAt], ['Complete', 'Complete', now]);
    const [, , again] = withResults([s, a, noted as ObservedRelease], rollout, now + 1);
    assert.equal(again?.completedAt, now);
  });

  for (const phase of ['Previewing', 'Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow'] as const)
    test(`has no result while it is in the phase ${phase}`, () => {
      const expected = ['Complete Complete once complete', 'Complete Complete once complete', `undefined ${phase} `];
      assert.deepEqual(resultsOf([s, a, b], rolloutOf(b, a, { phase })), expected);
    });

  for (const phase of ['Stopped', 'RollingBack', 'RolledBack'] as const)
    test(`is rejected in the phase ${phase}`, () => {
      const results = resultsOf([s, a, b], rolloutOf(b, a, { phase, givenUp: ['B r'] }));
      assert.deepEqual(results.at(-1), `Rejected ${phase} `);
    });

  test('waits, and is superseded if another one is newest', () => {
    const waiting = rolloutOf(a, a, { nextCommit: 'B', nextRevision: 'r', nextRelease: b.release });
    assert.deepEqual(resultsOf([s, a, b], waiting).at(-1), 'undefined Waiting ');
    const [, , noted] = withResults([s, a, b], waiting, now);
    const c = observedReleaseOf(4, 'C');
    const next = rolloutOf(c, a, { phase: 'Progressing' });
    assert.deepEqual(resultsOf([s, a, noted as ObservedRelease, c], next).slice(2), [
      'undefined Superseded ',
      'undefined Progressing ',
    ]);
  });

  test('loses its label when it is retried', () => {
    const retried = observedReleaseOf(3, 'B', rejected);
    const results = resultsOf([s, a, retried], rolloutOf(retried, a, { phase: 'Previewing' }));
    assert.equal(results.at(-1), 'undefined Previewing once complete');
  });

  test('is not rejected because a newer one with the same content is', () => {
    const again = observedReleaseOf(3, 'S');
    const results = resultsOf([s, a, again], rolloutOf(again, a, { phase: 'Stopped', givenUp: ['S r'] }));
    assert.deepEqual(results, [
      'Complete Complete once complete',
      'Complete Complete once complete',
      'Rejected Stopped ',
    ]);
  });

  test('has the phase that fits its label if its status was lost', () => {
    const restored = [
      observedReleaseOf(1, 'S', { result: 'Complete' }),
      observedReleaseOf(2, 'A', { result: 'Complete' }),
      observedReleaseOf(3, 'B', { result: 'Rejected' }),
    ];
    const [, stable = a] = restored;
    assert.deepEqual(resultsOf(restored, rolloutOf(stable, stable, { phase: 'Complete' })), [
      'Complete Complete once complete',
      'Complete Complete once complete',
      'Rejected RolledBack ',
    ]);
  });

  test('keeps its phase after it was rolled back and replaced', () => {
    const left = observedReleaseOf(3, 'B', { result: 'Rejected', phase: 'RollingBack' });
    const c = observedReleaseOf(4, 'C');
    const results = resultsOf([s, a, left, c], rolloutOf(c, a, { phase: 'Progressing', givenUp: ['B r'] }));
    assert.equal(results[2], 'Rejected RolledBack ');
  });

  test('is rejected if it is complete and newer than the target of a rollback', () => {
    const c = observedReleaseOf(3, 'C', complete);
    const back = rolloutOf(c, s, { phase: 'RollingBack', givenUp: ['C r'] });
    assert.deepEqual(
      withResults([s, a, c], back, now).map(({ result }) => result),
      ['Complete', 'Rejected', 'Rejected'],
    );
  });

  test('is complete again if a rollback names it, and the older one that gateways leave stays so', () => {
    const left = observedReleaseOf(2, 'A', rejected);
    const forward = rolloutOf(s, left, { phase: 'RolledBack', givenUp: ['S r'] });
    assert.deepEqual(
      withResults([s, left], forward, now).map(({ result }) => result),
      ['Complete', 'Complete'],
    );
  });
});

suite('the results of releases', () => {
  const rollouts = (['Progressing', 'Complete', 'Stopped', 'RollingBack', 'RolledBack'] as const).flatMap((phase) => [
    rolloutOf(b, a, { phase }),
    rolloutOf(b, s, { phase, givenUp: ['B r', 'A r'] }),
    rolloutOf(b, b, { phase }),
  ]);
  for (const [index, rollout] of rollouts.entries())
    test(`don't change when they are noted again: rollout ${index}`, () => {
      const noted = withResults([s, a, b], rollout, now);
      assert.deepEqual(withResults(noted, rollout, now + 1_000), noted);
    });

  test('are final without spec.rollout', () => {
    const left = withResults([s, observedReleaseOf(2, 'A', { phase: 'Soaking' })], undefined, now);
    assert.deepEqual(
      left.map(({ phase }) => phase),
      ['Complete', 'Superseded'],
    );
  });

  test('lose their labels without spec.rollout, and keep the time', () => {
    const left = withResults([s, observedReleaseOf(2, 'A', rejected), b], undefined, now);
    assert.deepEqual(
      left.map(({ result, completedAt }) => [result, completedAt]),
      [
        [undefined, earlier],
        [undefined, earlier],
        [undefined, undefined],
      ],
    );
  });

  test('can be chosen by their label, the newest first', () => {
    const releases = [s, observedReleaseOf(2, 'A', rejected), observedReleaseOf(3, 'B', complete)];
    assert.deepEqual(
      labelledIn(releases, 'Complete').map(({ release }) => release),
      ['app-3', 'app-1'],
    );
    assert.deepEqual(
      labelledIn(releases, 'Rejected').map(({ release }) => release),
      ['app-2'],
    );
  });

  test('have the details of the rollout only in the current release', () => {
    const rollout = rolloutOf(b, a, { phase: 'Stopped', failures: ['g-0'], failureMessage: 'the disk is full' });
    const [, stable, current] = withResults([s, a, b], rollout, now);
    assert.deepEqual(statusPatchOf(stable as ObservedRelease, rollout), {
      phase: 'Complete',
      completedAt: new Date(earlier).toISOString(),
      failures: null,
      message: null,
    });
    assert.deepEqual(statusPatchOf(current as ObservedRelease, rollout), {
      phase: 'Stopped',
      startedAt: rollout.startedAt,
      failures: ['g-0'],
      message: 'the disk is full',
    });
  });
});

suite('unneeded releases', () => {
  const many = (count: number, more: Partial<ObservedRelease>, first = 1) =>
    Array.from({ length: count }, (_, index) => observedReleaseOf(first + index, `C${first + index}`, more));
  /** Names of the releases that remain. */
  const kept = (releases: ObservedRelease[], rollout: RolloutStatus, history = 10) => {
    const unneeded = unneededOf(releases, rollout, history);
    return releases.filter((release) => !unneeded.includes(release)).map(({ number }) => number);
  };

  test('are complete ones besides the newest, as many as spec.history', () => {
    const releases = many(8, complete);
    const [stable] = releases.slice(-1) as [ObservedRelease];
    assert.deepEqual(kept(releases, rolloutOf(stable, stable), 3), [5, 6, 7, 8]);
    assert.deepEqual(kept(releases, rolloutOf(stable, stable), 0), [8]);
  });

  test('are never the ones that the status names, nor the newest', () => {
    const releases = many(30, {});
    const [first, second, third] = releases as [ObservedRelease, ObservedRelease, ObservedRelease];
    const next = { nextCommit: third.commit, nextRevision: 'r', nextRelease: third.release };
    const rest = kept(releases, rolloutOf(second, first, next), 0);
    assert.deepEqual(rest, [1, 2, 3, 25, 26, 27, 28, 29, 30]);
  });

  test('are rejected ones before those to which a rollback can return', () => {
    const releases = [s, ...many(3, rejected, 2), observedReleaseOf(5, 'E', complete)];
    const stable = releases.at(-1) as ObservedRelease;
    assert.deepEqual(kept(releases, rolloutOf(stable, stable), 2), [1, 4, 5]);
  });

  test('are those that a newer one with the same content replaces', () => {
    const same = [2, 3, 4].map((number) => observedReleaseOf(number, 'same', complete));
    const stable = observedReleaseOf(5, 'E', complete);
    assert.deepEqual(kept([s, ...same, stable], rolloutOf(stable, stable), 2), [1, 4, 5]);
  });

  test('are not complete ones while a newer one with their content can still fail', () => {
    const releases = [s, a, observedReleaseOf(3, 'B', complete), observedReleaseOf(4, 'A')];
    const [, , stable = s, current = s] = releases;
    assert.deepEqual(kept(releases, rolloutOf(current, stable, { phase: 'Progressing' })), [1, 2, 3, 4]);
  });

  test('are all more than 20', () => {
    const releases = [...many(25, complete), ...many(10, {}, 26)];
    const stable = releases[24] as ObservedRelease;
    const rest = kept(releases, rolloutOf(stable, stable), 20);
    assert.equal(rest.length, 20);
    assert.ok(rest.includes(25) && rest.includes(35));
  });

  test('do not exist in a short list', () => {
    assert.deepEqual(unneededOf([s, a, b], rolloutOf(b, a), 10), []);
    assert.deepEqual(unneededOf([], rolloutOf(b, a), 10), []);
  });
});
