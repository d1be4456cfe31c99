import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer } from '../../../../controller/intent/resolution.ts';
import { Places } from '../../../../controller/polling/places.ts';
import {
  covers,
  Intervals,
  newsOf,
  ownRefs,
  partsOf,
  unionOf,
} from '../../../../controller/polling/subscriber-needs.ts';
import { prefixesToSend, type SurplusError, WantedRefs } from '../../../../controller/polling/wanted-refs.ts';
import { TransientError } from '../../../../shared/errors.ts';

suite('the intervals of a shared repository', () => {
  test('know the least of those that are left', () => {
    const intervals = new Intervals();
    assert.equal(intervals.least, undefined);
    for (const interval of [60, 30, 30]) intervals.replace(undefined, interval);
    assert.equal(intervals.least, 30);
    intervals.replace(30, 10);
    assert.equal(intervals.least, 10);
    intervals.replace(10, undefined);
    assert.equal(intervals.least, 30);
    intervals.replace(30, undefined);
    assert.equal(intervals.least, 60);
    intervals.replace(60, undefined);
    assert.equal(intervals.least, undefined);
  });
});

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];

suite('what a resource needs', () => {
  const heads = 'refs/heads/';
  const main = 'refs/heads/main';

  test('is asked for with others by its names, and by itself for its commits', () => {
    const none = { prefixes: [], commits: [] };
    assert.deepEqual(partsOf({ prefixes: [main, heads], commits: [] }), {
      names: { prefixes: [main, heads], commits: [] },
      commits: undefined,
    });
    assert.deepEqual(partsOf({ prefixes: [main, 'refs/tags/', heads, 'refs/p'], commits: [B, A] }), {
      names: { prefixes: [main], commits: [] },
      commits: { prefixes: [heads, 'refs/tags/'], commits: [A, B] },
    });
    assert.deepEqual(partsOf({ prefixes: [heads], commits: [A] }).names, undefined);
    assert.deepEqual(partsOf({ prefixes: ['refs/p'], commits: [] }), { names: none, commits: undefined });
  });

  test('is part of what all need, and of the answer its own refs', () => {
    const union = unionOf([
      { prefixes: [main], commits: [A] },
      { prefixes: [main, heads], commits: [B, A] },
    ]);
    assert.deepEqual(union, { prefixes: [main, heads], commits: [A, B] });
    const refs = new Map([
      [main, A],
      ['refs/heads/other', B],
    ]);
    assert.deepEqual(ownRefs(refs, { prefixes: [main, 'refs/heads/none'], commits: [] }), new Map([[main, A]]));
    const covered = new Set([main, A]);
    assert.ok(covers(covered, { prefixes: [main], commits: [A] }));
    assert.ok(!covers(covered, { prefixes: [main, heads], commits: [A] }));
    assert.ok(!covers(covered, { prefixes: [main], commits: [A, B] }));
  });

  const refs = (entries: Record<string, string>): Answer => ({ kind: 'refs', refs: new Map(Object.entries(entries)) });
  const failed = (code: string): Answer => ({
    ...{ kind: 'error', retryAfterMs: 0, lastGood: undefined },
    error: new TransientError('no', { code, reason: 'X' }),
  });
  const rows: [what: string, before: Answer | undefined, after: Answer, isNews: boolean][] = [
    ['the first answer', undefined, refs({}), true],
    ['the same refs', refs({ [main]: A }), refs({ [main]: A }), false],
    ['a ref that moved', refs({ [main]: A }), refs({ [main]: B }), true],
    ['a ref that came', refs({}), refs({ [main]: A }), true],
    ['a ref that went', refs({ [main]: A }), refs({}), true],
    ['a ref of somebody else', refs({ [main]: A }), refs({ [main]: A, 'refs/heads/main2': B }), false],
    ['a ref below its folder', refs({}), refs({ 'refs/tags/v1': B }), true],
    ['its commit', refs({}), refs({ [A]: A }), true],
    ['an error', refs({}), failed('x'), true],
    ['the end of an error', failed('x'), refs({}), true],
    ['the same error', failed('x'), failed('x'), false],
    ['another error', failed('x'), failed('y'), true],
  ];
  for (const [what, before, after, isNews] of rows)
    test(`${isNews ? 'makes news' : 'makes no news'} of ${what}`, () => {
      assert.equal(newsOf(before, after)({ prefixes: [main, 'refs/tags/'], commits: [A] }), isNews);
    });
});

suite('the refs of an answer', () => {
  test('are kept where somebody asked for them, by name or below a folder at one of the commits', () => {
    const wanted = new WantedRefs({ prefixes: ['refs/heads/main', 'refs/tags/'], commits: [A] });
    const long = `refs/tags/${'x'.repeat(1_014)}`;
    for (const [name, commit] of [
      ['refs/heads/main', B],
      ['refs/heads/main2', A],
      ['refs/tags/v1', A],
      ['refs/tags/v2', B],
      [long, A],
      [`${long}x`, A],
    ] as const)
      wanted.add(name, commit);
    assert.deepEqual([...wanted.refs.keys()], ['refs/heads/main', 'refs/tags/v1', long]);
    wanted.add('refs/heads/main', A);
    assert.equal(wanted.refs.get('refs/heads/main'), A, 'a tag comes before what it is peeled to');
    wanted.addWithTip('refs/pull/1', A);
    assert.ok(!wanted.refs.has(A));
    wanted.addWithTip('refs/tags/v9', B);
    assert.ok(!wanted.refs.has(B));
    wanted.addWithTip('refs/tags/v9', A);
    assert.equal(wanted.refs.get(A), A);
  });

  test('are too many below folders at 10,001', () => {
    const wanted = new WantedRefs({ prefixes: ['refs/tags/'], commits: [A] });
    for (let n = 0; n < 10_000; n += 1) wanted.add(`refs/tags/${n}`, A);
    assert.throws(() => wanted.add('refs/tags/x', A), {
      reason: 'GitAnswerTooLarge',
      message: /10000 refs at the same/,
    });
  });

  test('are too many where names are the beginnings of so many others, which are counted for each', () => {
    const wanted = new WantedRefs({
      prefixes: ['refs/heads/a', 'refs/heads/ab', 'refs/x'],
      commits: [],
      maxSurplus: 2,
    });
    for (const name of ['refs/heads/abc', 'refs/heads/ac', 'refs/y', 'refs/heads/a']) wanted.add(name, A);
    assert.throws(
      () => wanted.add('refs/heads/abd', A),
      (error: SurplusError) => {
        assert.deepEqual(Object.fromEntries(error.surplus), { 'refs/heads/a': 3, 'refs/heads/ab': 2 });
        assert.match(error.message, /more than 2 refs that nobody asked for/);
        return error.reason === 'GitAnswerTooLarge';
      },
    );
  });

  test('are asked for by name, and beyond 2,000 names all branches and tags at once', () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `refs/${n % 2 ? 'heads' : 'tags'}/${n}`);
    assert.deepEqual(prefixesToSend(names(2_000)), names(2_000));
    assert.deepEqual(prefixesToSend([...names(2_000), 'HEAD']), ['refs/heads/', 'refs/tags/', 'HEAD']);
    const wanted = new WantedRefs({ prefixes: names(2_001), commits: [], maxSurplus: 0 });
    wanted.add('refs/tags/00', A);
    assert.equal(wanted.refs.size, 0, 'no name is to blame for what comes then');
  });
});

suite('places', () => {
  test('are for whoever comes first in one half, and for namespaces that have none in the other', () => {
    const places = new Places(4);
    assert.ok(places.isEmpty);
    for (const namespace of ['a', 'a']) {
      assert.ok(places.hasFor(namespace));
      places.take(namespace);
    }
    assert.ok(!places.hasFor('a') && places.hasFor('b'));
    for (const namespace of ['b', 'c']) places.take(namespace);
    assert.ok(!places.hasFor('d'));
    places.release('a');
    assert.ok(!places.hasFor('a') && places.hasFor('d'));
    for (const namespace of ['a', 'b', 'c']) places.release(namespace);
    assert.ok(places.isEmpty && places.hasFor('a'));
  });

  test('may be fewer for a namespace', () => {
    const places = new Places(8, 1);
    places.take('a');
    assert.ok(!places.hasFor('a') && places.hasFor('b'));
  });
});
