import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
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

test('each command of a runbook says in which namespace: whoever is on call has another one, or none', () => {
  const runbooks = pages.find(({ file }) => file === 'docs/reference/alerts.md');
  const commands = [...(runbooks?.text ?? '').matchAll(/`(kubectl [^`]+)`/g)].map(([, command = '']) => command);
  assert.ok(commands.length > 10);
  assert.deepEqual(
    commands.filter((command) => !/ (?:-n [a-zA-Z-]+|-A)(?: |$)/.test(command)),
    [],
  );
});

test('the diagrams of the modules show the modules that the check of imports enforces', () => {
  const rules = readFileSync(path.join(checkout, '.dependency-cruiser.cjs'), 'utf8');
  const orders = [...rules.matchAll(/^ {2}(?:receiver|controller|agent|cli):\s+'(.*)',$/gm)];
  assert.equal(orders.length, 4);
  const page = readFileSync(path.join(checkout, 'docs/contributing/modules.md'), 'utf8');
  for (const [, order = ''] of orders) {
    const line = order.replaceAll('→', '-->').replaceAll('·', '&');
    assert.ok(page.includes(`  ${line}\n`), `docs/contributing/modules.md has no diagram of ${order}`);
  }
});

/** Where other pages repeat figures of the benchmarks: the row, and the text with the numbers of its last column. */
const repeatedFigures: [page: string, row: string, text: (...numbers: string[]) => string][] = [
  ['README.md', 'time from a push to the file', (median) => `after ${Number(median) / 1_000} s (median`],
  ['docs/how-to/sizing.md', 'deliveries that one receiver', (one) => `about ${one} deliveries per second for one`],
  ['docs/how-to/sizing.md', 'deliveries that one receiver', (_, many) => `about ${many} per second for 1,000`],
  ['docs/how-to/sizing.md', 'memory of the controller', (_, many) => `| ${many} MB, measured |`],
  ['docs/how-to/sizing.md', 'memory of the controller', (_one, _many, most) => `| ${most} MB, measured |`],
  ['docs/explanation/scaling.md', 'deliveries that one receiver', (_, many) => `about ${many} deliveries per second`],
];

suite('figures of the benchmarks', () => {
  const textOf = (file: string) => pages.find((page) => page.file === file)?.text ?? '';
  const rows = textOf('docs/explanation/benchmarks.md').split('\n');
  for (const [page, name, text] of repeatedFigures) {
    const row = rows.find((line) => line.startsWith(`| ${name}`)) ?? '';
    const numbers =
      row
        .split('|')
        .at(-2)
        ?.match(/\d[\d,.]*\d|\d/g) ?? [];
    const expected = text(...numbers);
    test(`are the same in ${page}: "${expected}"`, () => assert.ok(textOf(page).includes(expected)));
  }
});

test('no page offers an npm package of the plugin before it exists, because its name is still free', () => {
  const offers = /\b(?:npm (?:i|install|exec)|npx|pnpm|yarn)\b[^\n]*\bkubectl-stoker\b/;
  assert.deepEqual(
    pages.filter(({ text }) => offers.test(text)).map(({ file }) => file),
    [],
  );
});
