import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageFor } from '../../../../scripts/site/addresses.ts';
import { describePage } from '../../../../scripts/site/describe-page.ts';
import { readPages } from '../../../support/markdown.ts';

test('a page is described by its first sentences, without Markdown', () => {
  const long = `It has ${'very '.repeat(30)}many words.`;
  const page = `<!-- Generated. -->\n\n# Title\n\n| a |\n|---|\n\nThis **page** shows [how](x.md) to\nuse \`a.b\`. ${long}\n\nMore.\n`;
  assert.equal(describePage(page), 'This page shows how to use a.b.');
});

test('every page has a description of its own', async () => {
  const pages = (await readPages()).filter(({ file }) => pageFor(file));
  const descriptions = new Map(pages.map(({ file, text }) => [describePage(text), file]));
  assert.equal(descriptions.size, pages.length);
  for (const [description, file] of descriptions) {
    assert.match(description, /^[^<#>|!*[`].{20,250}[.?!)]$/, `${file}: ${description}`);
  }
});
