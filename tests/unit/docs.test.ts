import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { anchorOf } from '../../scripts/site/addresses.ts';
import { type Page, proseOf, readPages } from '../support/markdown.ts';

const checkout = path.join(import.meta.dirname, '../..');
const pages = await readPages();

/** Targets of the links of a page, those within the project. */
const linksOf = (page: Page): string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => (/^[a-z]+:/.test(link) ? [] : [link]));

/** Anchors of the headings of a page. */
function anchorsOf(page: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(page).matchAll(/^#+ (.*)$/gm)) {
    const name = anchorOf(heading);
    let anchor = name;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${name}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

suite('the links of', () => {
  for (const page of pages) {
    test(page.file, () => {
      for (const link of linksOf(page)) {
        const [target = '', anchor] = link.split('#');
        const file = target ? path.join(path.dirname(page.file), target) : page.file;
        assert.ok(existsSync(path.join(checkout, file)), `${link}: there is no ${file}`);
        const named = pages.find((other) => other.file === file);
        if (anchor && named) assert.ok(anchorsOf(named).has(anchor), `${link}: ${file} has no such heading`);
      }
    });
  }
});

test('every page is linked from the index of the docs', () => {
  const index = pages.find(({ file }) => file === 'docs/README.md');
  assert.ok(index);
  const linked = linksOf(index).map((link) => path.join('docs', link.split('#')[0] ?? ''));
  const missing = pages.filter(
    ({ file }) => /^docs\/(?:[^/]+\/)?[^/]+\.md$/.test(file) && !file.startsWith('docs/adr/') && file !== index.file,
  );
  assert.deepEqual(
    missing.map(({ file }) => file).filter((file) => !linked.includes(file)),
    [],
  );
});
