import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutStatus } from '../../../../../shared/api/rollout.ts';
import type { LabelSelector } from '../../../../../shared/api/wave.ts';
import { isAtLeast } from '../../../../../shared/domain/git/version.ts';
import { boundedLabels } from '../../../../../shared/domain/kubernetes/bounded-labels.ts';
import {
  type CompletedRelease,
  canRetry,
  isSame,
  releaseOf,
  rollbackTarget,
  stableOf,
} from '../../../../../shared/domain/rollout/releases.ts';
import {
  ALL,
  fittingWaves,
  NO_GATEWAY,
  planOf,
  rolloutKey,
  waveOf,
} from '../../../../../shared/domain/rollout/waves.ts';

suite('a pod matches a wave', () => {
  const labels = new Map([
    ['tier', 'canary'],
    ['site', 'a'],
    ['empty', ''],
  ]);
  const condition = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]) => ({
    matchExpressions: [{ key, operator, ...(values && { values }) }],
  });
  // As https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ has it.
  const cases: [string, LabelSelector | undefined, boolean][] = [
    ['without a selector', undefined, true],
    ['with a label that it has', { matchLabels: { tier: 'canary' } }, true],
    ['with a label of another value', { matchLabels: { tier: 'rest' } }, false],
    ['with a label that it does not have', { matchLabels: { other: '' } }, false],
    ['with a label whose value is empty', { matchLabels: { empty: '' } }, true],
    ['In with its value', condition('site', 'In', ['b', 'a']), true],
    ['In of a label that it does not have', condition('other', 'In', ['']), false],
    ['In of nothing', condition('site', 'In'), false],
    ['NotIn without its value', condition('site', 'NotIn', ['b']), true],
    ['NotIn of a label that it does not have', condition('other', 'NotIn', ['b']), true],
    ['NotIn of nothing', condition('site', 'NotIn'), true],
    ['Exists of a label', condition('empty', 'Exists'), true],
    ['DoesNotExist of another', condition('other', 'DoesNotExist'), true],
    [
      'with two conditions, one of them not met',
      { matchExpressions: [...condition('site', 'Exists').matchExpressions, { key: 'other', operator: 'Exists' }] },
      false,
    ],
    [
      'with a label and a condition that is not met',
      { matchLabels: { site: 'a' }, ...condition('x', 'Exists') },
      false,
    ],
  ];
  for (const [name, selector, expected] of cases) {
    test(`${name}: ${expected}`, () => {
      assert.deepEqual(fittingWaves([{ name: 'w', ...(selector && { selector }) }], labels), [expected]);
    });
  }
});

suite('the wave of a gateway', () => {
  const key = rolloutKey('gw', 'gw-0');

  test('is the first one that matches and has room for its key, or else the rest', () => {
    const cases: [fits: boolean[], members: string[], wave: number][] = [
      [[true, true], [ALL, ALL], 0],
      [[false, true], [ALL, ALL], 1],
      [[false, false], [ALL, ALL], 2],
      [[true, true], [NO_GATEWAY, ALL], 1],
      [[true, true], [NO_GATEWAY, NO_GATEWAY], 2],
      [[true], [key], 0],
      [[true], [`${key.slice(0, -1)} `], 1],
      [[true, true], [], 2],
      [[], [], 0],
    ];
    for (const [fits, members, wave] of cases) {
      const admission = members.map((each) => ({ members: each }));
      assert.equal(waveOf(fits, key, admission), wave, JSON.stringify({ fits, members }));
    }
  });

  test("is chosen by a key of both names, the gateway's first", () => {
    assert.match(key, /^[0-9a-f]{24}$/);
    assert.equal(rolloutKey('gw', 'gw-1').slice(0, 12), key.slice(0, 12));
    assert.equal(rolloutKey('other', 'gw-0').slice(12), key.slice(12));
    assert.notEqual(rolloutKey('gw', 'gw-1'), key);
    assert.notEqual(rolloutKey('other', 'gw-0'), key);
  });
});

suite('the fingerprint of a wave plan', () => {
  const wave = {
    name: 'canary',
    gateways: '10%',
    selector: {
      matchLabels: { tier: 'canary', site: 'a' },
      matchExpressions: [{ key: 'x', operator: 'In' as const, values: ['1', '2'] }],
    },
  };
  const plan = planOf([wave, { name: 'more' }]);

  test('differs after any change that can move a gateway', () => {
    const others = [
      [wave],
      [{ name: 'more' }, wave],
      [{ ...wave, name: 'other' }, { name: 'more' }],
      [{ ...wave, gateways: 10 }, { name: 'more' }],
      [{ name: 'canary', selector: wave.selector }, { name: 'more' }],
      [{ name: 'canary', gateways: '10%' }, { name: 'more' }],
      [{ ...wave, selector: { ...wave.selector, matchLabels: { tier: 'canary' } } }, { name: 'more' }],
      [{ ...wave, selector: { matchLabels: wave.selector.matchLabels } }, { name: 'more' }],
      ...[{ key: 'y' }, { operator: 'NotIn' as const }, { values: ['1'] }].map((change) => [
        {
          ...wave,
          selector: {
            ...wave.selector,
            matchExpressions: [{ key: 'x', operator: 'In' as const, values: ['1', '2'], ...change }],
          },
        },
        { name: 'more' },
      ]),
    ];
    const plans = others.map(planOf);
    assert.equal(new Set([plan, ...plans]).size, others.length + 1);
    for (const each of plans) assert.match(each, /^[0-9a-f]{32}$/);
  });

  test('stays the same after any other change', () => {
    const matchLabels = { site: 'a', tier: 'canary' };
    assert.equal(planOf([{ ...wave, selector: { ...wave.selector, matchLabels } }, { name: 'more' }]), plan);
    assert.equal(planOf([{ ...wave, soak: '10m', approval: true, maxConcurrent: 1 }, { name: 'more' }]), plan);
    assert.equal(planOf([wave, { name: 'more', selector: {} }]), plan);
  });
});

suite('the labels that waves select by', () => {
  const many = (count: number, value = ''): [string, string][] =>
    Array.from({ length: count }, (_, index) => [String(index).padStart(4, '0'), value]);

  test('are all in use, by name', () => {
    const a: [string, string] = ['a', '1'];
    const b: [string, string] = ['b', '2'];
    assert.deepEqual(boundedLabels(new Map([b, a])), [a, b]);
    assert.deepEqual(boundedLabels([]), []);
  });

  test('are limited to the first 32', () => {
    assert.deepEqual(boundedLabels(many(32)), many(32));
    assert.deepEqual(boundedLabels(many(33).reverse()), many(32));
  });

  test('are limited to 2,048 characters together', () => {
    const fitting = many(16, 'x'.repeat(124));
    assert.deepEqual(boundedLabels(fitting), fitting);
    assert.deepEqual(boundedLabels([...fitting, ['9', '']]), fitting);
    assert.deepEqual(boundedLabels(many(16, 'x'.repeat(125))).length, 15);
  });
});

const stable = { commit: 's'.repeat(40), ref: 'v1', revision: 'r1', release: 'app-4' };
const next = { commit: 'n'.repeat(40), ref: 'v2', revision: 'r2', release: 'app-5' };
const early = { commit: 'e'.repeat(40), ref: 'v0', revision: 'r0', release: 'app-2' };
const rolloutOf = (release: typeof stable, more: Partial<RolloutStatus> = {}): RolloutStatus =>
  ({
    ...release,
    phase: 'Progressing',
    stableCommit: stable.commit,
    stableRef: stable.ref,
    stableRevision: stable.revision,
    stableRelease: stable.release,
    ...more,
  }) as RolloutStatus;
const completed = (release: typeof stable, isRejected = false): CompletedRelease => ({ ...release, isRejected });

suite('the release of a rollout', () => {
  test('is the same whichever ref led to it', () => {
    assert.equal(isSame(stable, { ...stable, ref: 'other' }), true);
    assert.equal(isSame(stable, { ...stable, commit: next.commit }), false);
    assert.equal(isSame(stable, { ...stable, revision: 'other' }), false);
  });

  test('is the current one, or the stable one', () => {
    assert.deepEqual(releaseOf(rolloutOf(next)), next);
    assert.deepEqual(stableOf(rolloutOf(next)), stable);
  });

  const rejected = { ...early, release: 'app-3', commit: 'f'.repeat(40) };
  const all = [completed(stable), completed(rejected, true), completed(early)];
  const found = (value: string, rollout: RolloutStatus, releases = all) => {
    const target = rollbackTarget(value, { rollout, completed: releases });
    return target && releaseOf(target);
  };
  test('after a rollback is the stable one while another is in progress', () => {
    assert.deepEqual(found('previous', rolloutOf(next)), stable);
    assert.deepEqual(found(stable.release, rolloutOf(next)), stable);
    assert.deepEqual(found(stable.release, rolloutOf({ ...stable, revision: 'other' })), stable);
  });

  test("after a rollback is otherwise the last one before it that wasn't rejected, or the named one", () => {
    assert.deepEqual(found('previous', rolloutOf(stable)), early);
    assert.deepEqual(found(early.release, rolloutOf(stable)), early);
    assert.deepEqual(found(early.release, rolloutOf(next)), early);
    assert.deepEqual(found(rejected.release, rolloutOf(next)), rejected);
    assert.deepEqual(found('previous', rolloutOf(next, { phase: 'RolledBack' })), early);
  });

  test('after a rollback is never a newer one, unless it is named', () => {
    const newer = [completed(next, true), ...all];
    assert.deepEqual(found('previous', rolloutOf(stable), newer), early);
    assert.deepEqual(found(next.release, rolloutOf(stable), newer), next);
  });

  test('after a rollback is missing if none matches', () => {
    assert.equal(found(stable.release, rolloutOf(stable)), undefined);
    assert.equal(found(stable.release, rolloutOf(next, { phase: 'RolledBack' })), undefined);
    assert.equal(found(next.release, rolloutOf(next)), undefined);
    assert.equal(found(early.commit, rolloutOf(stable)), undefined);
    assert.equal(found('previous', rolloutOf(stable), [completed(stable), completed(rejected, true)]), undefined);
  });

  test('after a rollback is never one with the same content as the stable one', () => {
    const again = [completed(stable), completed({ ...stable, release: 'app-1' }), completed(early)];
    assert.deepEqual(found('previous', rolloutOf(stable), again), early);
    assert.equal(found('app-1', rolloutOf(stable), again), undefined);
  });

  test('can be retried if it was rolled back', () => {
    for (const phase of ['Stopped', 'RollingBack', 'RolledBack'] as const)
      assert.equal(canRetry(next.commit, rolloutOf(next, { phase })), true, phase);
    for (const phase of ['Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow', 'Complete'] as const)
      assert.equal(canRetry(next.commit, rolloutOf(next, { phase })), false, phase);
    assert.equal(canRetry(stable.commit, rolloutOf(next, { phase: 'Stopped' })), false);
    const givenUp = [`${early.commit} r0`, `${next.commit} r2`];
    assert.equal(canRetry(next.commit, rolloutOf(stable, { givenUp })), true);
    assert.equal(canRetry(stable.commit, rolloutOf(stable, { givenUp })), false);
    assert.equal(canRetry(next.commit.slice(0, 7), rolloutOf(stable, { givenUp })), false);
  });
});

suite('a release version', () => {
  for (const [version, expected] of [
    ['1.2.3', true],
    ['v1.2.3', true],
    ['1.2.4', true],
    ['1.10.0', true],
    ['1.2.3-rc.1', true],
    ['1.2.3+build', true],
    ['1.2.2', false],
    ['1.2', false],
    ['x1.2.3', false],
    ['dev', false],
    [undefined, false],
  ] as const) {
    test(`${version} is ${expected ? 'at least' : 'not known to be at least'} 1.2.3`, () => {
      assert.equal(isAtLeast(version, '1.2.3'), expected);
    });
  }

  test("isn't compared with an invalid one", () => assert.equal(isAtLeast('1.2.3', 'latest'), false));
});
