import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queries } from './queries.ts';
import { startSearch } from './start-site.ts';

/** Queries with a useful page among the first three results. */
const FOUND = 75;

const FOR_CONTRIBUTORS = /^(adr|changelog|contributing)(\/(?!security-policy)|$)/;

test('the search finds what users look for, and never nothing', async (t) => {
  const search = await startSearch(t);
  const misses = Object.entries(queries).flatMap(([query, useful]) => {
    const pages = search(query).map(({ id }) => id.split('#')[0]?.slice(1) ?? '');
    assert.ok(pages.length > 0, `${query}: no result`);
    assert.ok(!pages.some((page) => FOR_CONTRIBUTORS.test(page)), `${query}: ${pages.join(', ')}`);
    return pages.slice(0, 3).some((page) => useful.includes(page)) ? [] : [`${query}: ${pages.slice(0, 3).join(', ')}`];
  });
  assert.ok(misses.length <= Object.keys(queries).length - FOUND, `a wrong answer for:\n${misses.join('\n')}`);
});
