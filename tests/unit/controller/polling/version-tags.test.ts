import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import semver from 'semver';
import { NewestTags } from '../../../../controller/polling/newest-tags.ts';
import { newestInRange, rangeKey, readRange } from '../../../../controller/polling/version-tags.ts';
import { slow } from '../../../support/depth.ts';

const releases = ['v1.3.9', 'v1.4.0', 'v1.4.10', 'v1.4.9', 'v1.5.0-rc.1', 'v1.5.0', 'v2.0.0', 'v3.0.0-rc.1'];
const plain = releases.map((tag) => tag.slice(1));
const builds = ['1.4.0+a', '1.4.1+b', '1.4.1-rc.1+c'];
const strange = [
  'latest',
  'v1',
  '1.4',
  'app/v1.4.0',
  'v01.4.0',
  '1.4.0.1',
  'release-1.4.0',
  'v1.4.99999999999999999999',
];

const CASES: [tags: string[], range: string, newest: string | undefined][] = [
  [releases, '~1.4', 'v1.4.10'],
  [releases, '^1.4.0', 'v1.5.0'],
  [releases, '*', 'v2.0.0'],
  [releases, '1', 'v1.5.0'],
  [releases, 'v1.4.0', 'v1.4.0'],
  [releases, '<1.4', 'v1.3.9'],
  [releases, '1.3 - 1.4', 'v1.4.10'],
  [releases, '1.3.9 || 2.x', 'v2.0.0'],
  [releases, '>=1.5.0-0 <1.5.0', 'v1.5.0-rc.1'],
  [releases, '>=3.0.0-0', 'v3.0.0-rc.1'],
  [releases, '>=3', undefined],
  [plain, '~1.4', '1.4.10'],
  [releases.toReversed(), '~1.4', 'v1.4.10'],
  [builds, '>=1.4.1-0 <1.4.1', '1.4.1-rc.1+c'],
  [[...strange, ...releases], '~1.4', 'v1.4.10'],
  [strange, '*', undefined],
  [['v1.0.0-alpha', 'v1.0.0-alpha.1', 'v1.0.0-beta.11', 'v1.0.0-beta.2'], '>=1.0.0-0', 'v1.0.0-beta.11'],
  [['v0.0.1', 'v0.0.2', 'v0.1.0'], '^0.0.1', 'v0.0.1'],
];

suite('the newest tag in a range', () => {
  for (const [tags, text, expected] of CASES)
    test(`${text} of ${tags.length} tags such as ${tags[0]} is ${expected}, as npm chooses it`, () => {
      const range = readRange(text);
      assert.ok(range);
      const refs = tags.map((tag) => `refs/tags/${tag}`);
      assert.equal(newestInRange([...refs, 'refs/heads/v1.4.99', 'HEAD'], '', range)?.name, expected);
      const versions = tags.filter((tag) => semver.valid(tag));
      assert.equal(semver.maxSatisfying(versions, text) ?? undefined, expected);
    });

  test('is the one whose name sorts last if several are the same version', () => {
    const range = readRange('*');
    assert.ok(range);
    const tags = ['v1.2.3', '1.2.3', '1.2.3+build'].map((tag) => `refs/tags/${tag}`);
    for (const refs of [tags, tags.toReversed()]) assert.equal(newestInRange(refs, '', range)?.name, 'v1.2.3');
  });

  test('is no tag that the status has no room for, or with white space around it', () => {
    const range = readRange('*');
    assert.ok(range);
    const longest = `v1.4.2+${'a'.repeat(248)}`;
    const refused = [`${longest}a`, ...['\u00a0', '\ufeff', '\u2003'].flatMap((c) => [`v1.4.3${c}`, `${c}v1.4.3`])];
    const refs = [longest, ...refused].map((tag) => `refs/tags/${tag}`);
    assert.equal(newestInRange(refs, '', range)?.name, longest);
  });

  test('is undefined for text that is no range', () => {
    for (const text of ['main', '1.4.', '~~1', '>=1 <', 'v1.4.0.1']) assert.equal(readRange(text), undefined, text);
  });
});

suite('tags that stream by', () => {
  test('leave the newest of each range, the newest of all, and their number', () => {
    const tags = new NewestTags(['~1.4', '>=4']);
    for (const [n, tag] of releases.entries()) tags.add(`refs/tags/${tag}`, String(n));
    for (const tag of strange) tags.add(`refs/tags/${tag}`, 'x');
    tags.add('refs/heads/v1.4.99', 'x');
    const { refs, tags: listed } = tags.found;
    assert.deepEqual(listed, { counts: new Map([['', 16]]), skipped: new Set() });
    assert.deepEqual(Object.fromEntries(refs), {
      'refs/tags/v3.0.0-rc.1': '7',
      'refs/tags/v1.4.10': '2',
      'refs/tags/v1.4.99999999999999999999': 'x',
    });
  });

  test('leave the newest of each range with a prefix, and the number of tags with it', () => {
    const tags = new NewestTags([rangeKey({ text: '~1.4', prefix: '' }), rangeKey({ text: '*', prefix: 'site-' })]);
    for (const [n, tag] of ['v1.4.1', 'site-v1.9.0', 'site-1.10.0', 'sited', 'site-v02.0.0', 'app-v9.0.0'].entries())
      tags.add(`refs/tags/${tag}`, String(n));
    const { refs, tags: listed } = tags.found;
    assert.deepEqual(Object.fromEntries(listed.counts), { '': 6, 'site-': 3 });
    assert.deepEqual(Object.fromEntries(refs), {
      'refs/tags/site-1.10.0': '2',
      'refs/tags/site-v02.0.0': '4',
      'refs/tags/site-v1.9.0': '1',
      'refs/tags/v1.4.1': '0',
    });
  });

  test('have the commit that an annotated tag is peeled to', () => {
    const tags = new NewestTags(['*']);
    tags.add('refs/tags/v1.0.0', 'object');
    tags.add('refs/tags/v1.0.0', 'commit');
    assert.equal(tags.found.tags.counts.get(''), 1);
    assert.deepEqual(Object.fromEntries(tags.found.refs), { 'refs/tags/v1.0.0': 'commit' });
  });

  const streamOf = (ranges: string[], count: number) => {
    const tags = new NewestTags(ranges);
    for (let n = 0; n < count; n += 1) {
      tags.add(`refs/tags/v1.${Math.floor(n / 1_000)}.${n % 1_000}`, 'object');
      tags.add(`refs/tags/v1.${Math.floor(n / 1_000)}.${n % 1_000}`, 'commit');
    }
    return tags.found;
  };

  test('are too many for a range with very many parts, but not for the others', slow, () => {
    const heavy = Array.from({ length: 42 }, () => '9').join('||');
    assert.deepEqual([...streamOf([heavy, '~1.1'], 15_000).refs.keys()].sort(), [
      'refs/tags/v1.1.999',
      'refs/tags/v1.14.999',
    ]);
    const { refs, tags } = streamOf([heavy, '~1.1'], 30_000);
    assert.deepEqual([[...tags.skipped], tags.counts.get('')], [[heavy], 30_000]);
    assert.equal(refs.get('refs/tags/v1.1.999'), 'commit');
    const many = Array.from({ length: 100 }, (_, n) => heavy.replace('9', `9.${n}`));
    assert.ok(streamOf([...many, '~1.1'], 5_000).refs.has('refs/tags/v1.1.999'));
  });

  test('are compared once for texts of the same range, which have the same result', slow, () => {
    const heavy = Array.from({ length: 20 }, () => '9').join('||');
    const texts = Array.from({ length: 4 }, (_, n) => `${heavy}${' '.repeat(n)}`);
    const { refs } = streamOf([...texts, '~1.1', '~1.1.0', '1.1.x'], 25_000);
    assert.deepEqual([...refs.keys()], ['refs/tags/v1.24.999', 'refs/tags/v1.1.999']);
    const { skipped } = streamOf([...texts, '~1.1'], 60_000).tags;
    assert.deepEqual(
      texts.filter((text) => !skipped.has(text)),
      [],
      'a range that is skipped is skipped with all its texts',
    );
  });

  test('are too many for more ranges than a query compares, but not for the first ones', () => {
    const ranges = Array.from({ length: 5_000 }, (_, n) => `>=1.${n} <1.${n + 1}`);
    const { refs, tags } = streamOf(ranges, 2_000);
    assert.ok(refs.has('refs/tags/v1.1.999'));
    assert.deepEqual([tags.skipped.has(ranges[1] ?? ''), tags.skipped.has(ranges.at(-1) ?? '')], [false, true]);
  });

  test('are not too many for ten ranges', slow, () => {
    const ranges = Array.from({ length: 10 }, (_, n) => `>=1.${n} <1.${n + 1}`);
    const { refs } = streamOf(ranges, 50_000);
    assert.deepEqual(
      ranges.filter((_, n) => !refs.has(`refs/tags/v1.${n}.999`)),
      [],
    );
  });
});
