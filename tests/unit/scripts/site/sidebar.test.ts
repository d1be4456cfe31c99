import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pageFor, pathOfPage } from '../../../../scripts/site/addresses.ts';
import { readSidebar, type SidebarItem } from '../../../../scripts/site/sidebar.ts';

const checkout = path.join(import.meta.dirname, '../../../..');
const sidebar = readSidebar('main');
const linksOf = (items: SidebarItem[]): string[] =>
  items.flatMap(({ link, items: below = [] }) => [...(link ? [link] : []), ...linksOf(below)]);

test('the sidebar has the headings of the index, with a group for each table that has a title', () => {
  const [tutorials, guides] = sidebar;
  assert.deepEqual(tutorials?.items?.[0], { text: 'Getting started', link: '/tutorials/getting-started' });
  assert.equal(guides?.text, 'How-to guides');
  assert.ok(guides.items?.every(({ link, items = [] }) => !link && items.length > 0));
});

test('the sidebar leads to every page except the pages for each sender, which have their own index', () => {
  const links = linksOf(sidebar);
  const pages = globSync('docs/**/*.md', { cwd: checkout }).filter((file) => !/senders\/(?!README)/.test(file));
  for (const file of pages) {
    const page = pathOfPage(pageFor(file) ?? '');
    assert.ok(page === '/' || links.includes(page), `docs/README.md has no row for ${file}`);
  }
});

test('the decisions follow their page, the newest first', () => {
  const decisions = sidebar.flatMap(({ items = [] }) => items).find(({ text }) => text === 'Decisions');
  const numbers = (decisions?.items ?? []).map(({ link = '' }) => Number(/(\d{4})/.exec(link)?.[1]));
  assert.ok(numbers.length > 40);
  assert.deepEqual(
    numbers,
    numbers.toSorted((one, other) => other - one),
  );
  assert.ok(existsSync(path.join(checkout, 'docs/adr/README.md')));
});
