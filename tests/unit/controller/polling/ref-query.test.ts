import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { QueryResult } from '../../../../controller/polling/query-result.ts';
import { prefixesToSend, WantedRefs } from '../../../../controller/polling/ref-query.ts';
import { hasChanged } from '../../../../controller/polling/shared-query.ts';
import { rangeKey } from '../../../../controller/polling/version-tags.ts';
import { TransientError } from '../../../../shared/errors.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const main = 'refs/heads/main';

suite('a query for ranges', () => {
  const site = rangeKey({ text: '*', prefix: 'site-' });
  const app = rangeKey({ text: '~1', prefix: 'app/' });
  const kept = 'refs/tags/site-v1.0.0';
  const rows: [ranges: string[], prefixes: string[]][] = [
    [
      [site, app, rangeKey({ text: '^1.0.0', prefix: 'site-' })],
      ['refs/tags/site-', 'refs/tags/app/', main],
    ],
    [[app], ['refs/tags/app/', kept, main]],
    [
      [site, '~1'],
      ['refs/tags/', main],
    ],
    [Array.from({ length: 2_001 }, (_, n) => rangeKey({ text: '*', prefix: `${n}-` })), ['refs/tags/', main]],
  ];
  for (const [ranges, prefixes] of rows)
    test(`sends the prefixes ${prefixes.join(', ')}, for ${ranges.length} ranges`, () => {
      assert.deepEqual(prefixesToSend({ prefixes: [kept, main], ranges }), prefixes);
    });
});

suite('a resource with a branch and a tag', () => {
  const refs = (entries: Record<string, string>): QueryResult => ({
    kind: 'refs',
    refs: new Map(Object.entries(entries)),
  });
  const failed = (code: string): QueryResult => ({
    kind: 'error',
    error: new TransientError('no', { code, reason: 'Waiting' }),
    retryAfterMs: 0,
    lastGood: undefined,
  });
  const rows: [what: string, before: QueryResult | undefined, after: QueryResult, expected: boolean][] = [
    ['the first result', undefined, refs({}), true],
    ['a ref that moved', refs({ [main]: A }), refs({ [main]: B }), true],
    ['a deleted ref', refs({ [main]: A }), refs({}), true],
    ['a ref of another resource', refs({ [main]: A }), refs({ [main]: A, 'refs/heads/main2': B }), false],
    ['an error', refs({}), failed('x'), true],
    ['the same error', failed('x'), failed('x'), false],
    ['another error', failed('x'), failed('y'), true],
  ];
  for (const [what, before, after, expected] of rows)
    test(`is ${expected ? '' : 'not '}enqueued after ${what}`, () => {
      assert.equal(hasChanged(before, after, [main, 'refs/tags/v1']), expected);
    });
});

suite('the refs of a response', () => {
  test('are kept if the query names them, or if they point at its commit', () => {
    const wanted = new WantedRefs({ prefixes: ['refs/heads/main', 'refs/tags/'], commit: A });
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
    assert.deepEqual([...wanted.found.refs.keys()], ['refs/heads/main', 'refs/tags/v1', long]);
    wanted.add('refs/heads/main', A);
    assert.equal(wanted.found.refs.get('refs/heads/main'), A, 'a tag comes before the commit that it is peeled to');
  });

  test('are too many if 10,001 point at the commit', () => {
    const wanted = new WantedRefs({ prefixes: ['refs/tags/'], commit: A });
    for (let n = 0; n < 10_000; n += 1) wanted.add(`refs/tags/${n}`, A);
    assert.throws(() => wanted.add('refs/tags/x', A), { reason: 'GitAnswerTooLarge' });
  });

  test('are requested by name, and beyond 2,000 names with all branches and tags', () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `refs/${n % 2 ? 'heads' : 'tags'}/${n}`);
    assert.deepEqual(prefixesToSend({ prefixes: names(2_000) }), names(2_000));
    assert.deepEqual(prefixesToSend({ prefixes: [...names(2_000), 'HEAD'] }), ['refs/heads/', 'refs/tags/', 'HEAD']);
  });
});
