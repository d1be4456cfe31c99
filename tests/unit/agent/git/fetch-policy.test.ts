import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isMostOf, planFetch, RepositorySize } from '../../../../agent/git/fetch-policy.ts';

const none = { commit: undefined, isPartial: false };
const some = { commit: 'a'.repeat(40), isPartial: true };

suite('a repository counts as large', () => {
  const after = (...wants: boolean[]) => {
    const size = new RepositorySize();
    for (const isWanting of wants) {
      if (isWanting) size.onFallback('wantOfBases');
      size.onFetched();
    }
    return size.isLarge;
  };

  test('from when its first commit was given up until all small files came', () => {
    const size = new RepositorySize();
    assert.equal(size.isLarge, false);
    size.onGivenUp();
    assert.equal(size.isLarge, true);
    size.onSmallFiles();
    assert.equal(size.isLarge, false);
  });

  test('where two commits in a row hold differences from files that were left out, and not for one', () => {
    assert.deepEqual([after(true), after(true, false, true), after(false, true, true)], [false, false, true]);
  });
});

suite('what a fetch leaves out', () => {
  for (const [name, isWhole, contents, host, filter] of [
    ['nothing where every file is wanted', true, none, 'servesBlobs', undefined],
    ['nothing where it could not be had later', false, none, 'commitsOnly', undefined],
    ['large files at first', false, none, 'servesBlobs', 'blob:limit=64k'],
    ['large files later on', false, some, 'servesBlobs', 'blob:limit=64k'],
  ] as const) {
    test(`is ${name}`, () => assert.equal(planFetch({ isWhole }, contents, { host, isLarge: false }).filter, filter));
  }

  test('is every file where the first commit turned out to be large', () => {
    for (const contents of [none, some]) {
      const plan = planFetch({ isWhole: false }, contents, { host: 'servesBlobs', isLarge: true });
      assert.deepEqual(plan, { filter: 'blob:none' });
    }
  });

  test('is not known of a first commit before some of it came', () => {
    const [first, later] = [none, some].map((contents) =>
      planFetch({ isWhole: false }, contents, { host: 'servesBlobs', isLarge: false }),
    );
    assert.deepEqual([first?.bounds, later?.bounds], [{ objects: 50_000, bytes: 16 * 1024 * 1024 }, undefined]);
  });

  test('comes with the commit where it is a quarter of its files or more', () => {
    assert.equal(isMostOf(8_000, 1_500), false);
    assert.equal(isMostOf(8_000, 2_001), true);
  });
});
