import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { commandsIn } from '../../scripts/site/console-commands.ts';
import { docsOf } from '../../shared/docs-site.ts';
import { faultsOf } from '../browser/accessibility.ts';
import { closeBrowser, openPage, skipWithoutChromium } from '../browser/browser.ts';
import { blocksOf } from '../support/markdown.ts';
import { startSite } from './start-site.ts';

after(closeBrowser);

const address = skipWithoutChromium ? '' : await startSite({ after });

test('the copy button copies the commands of a block, without prompts and output', {
  skip: skipWithoutChromium,
}, async (t) => {
  const name = 'tutorials/getting-started';
  const file = path.join(import.meta.dirname, '../../docs', `${name}.md`);
  const blocks = blocksOf({ file, text: await readFile(file, 'utf8') });
  const expected = blocks.filter(({ language }) => language === 'console').map(({ code }) => scriptIn(code));
  const page = await openPage(t, `${address}/${name}`, { permissions: ['clipboard-read', 'clipboard-write'] });
  const copied: string[] = [];
  for (const button of await page.locator('.language-console > button.copy').all()) {
    await page.evaluate("navigator.clipboard.writeText('')");
    await button.click({ force: true });
    const text = await page.waitForFunction<string>('navigator.clipboard.readText()');
    copied.push((await text.jsonValue()).trimEnd());
  }
  assert.deepEqual(copied, expected);
});

test('each field has an anchor, and the link to it shows its row', { skip: skipWithoutChromium }, async (t) => {
  const page = await openPage(t, `${address}/reference/api-reference#gatewaysync-spec.git.auth.sshKey.knownHosts`);
  const field = page.locator('td > :target');
  await field.waitFor();
  await page.waitForFunction('scrollY > 0');
  assert.equal(await field.textContent(), 'git.auth.sshKey.knownHosts');
  const names = await page.locator('tbody td:first-child').count();
  assert.equal(await page.locator('td:first-child > .row-anchor').count(), names);
});

test('the outline of a reference with wide tables leads to its sections', { skip: skipWithoutChromium }, async (t) => {
  for (const width of [390, 1280, 1440]) {
    const viewport = { width, height: 800 };
    const page = await openPage(t, `${address}/reference/chart-values`, { viewport });
    // It has a column of its own if there is space.
    if (width < 1440) await page.getByRole('button', { name: 'On this page' }).click();
    await page.getByRole('link', { name: 'Push receiver', exact: true }).filter({ visible: true }).click();
    await page.waitForFunction('location.hash === "#push-receiver" && scrollY > 1000');
  }
});

/** What VitePress' theme lacks, and has no option for. */
const OF_THEME = [
  // A group of the sidebar is a button with a button inside.
  /^nested-interactive: .*\.item\[role="button"\] /,
  // The button for the search shows its keys.
  /^label-content-name-mismatch: \.DocSearch /,
  // The home page has no main element.
  /^(?:landmark-one-main|region): /,
];

/** The theme's colors don't depend on the width, so each width has those of one scheme. */
const SCREENS = [
  { colorScheme: 'dark', width: 390 },
  { colorScheme: 'light', width: 1440 },
] as const;

test('axe finds only what the theme lacks', { skip: skipWithoutChromium }, async (t) => {
  for (const name of ['', 'how-to/roll-out-in-waves', 'reference/api-reference']) {
    for (const { colorScheme, width } of SCREENS) {
      const page = await openPage(t, `${address}/${name}`, { colorScheme, viewport: { width, height: 800 } });
      const faults = (await faultsOf(page)).filter((fault) => !OF_THEME.some((known) => known.test(fault)));
      assert.deepEqual(faults, [], `${name} at ${width} pixels`);
    }
  }
});

test('each page of the sitemap has a title and a description of its own', { skip: skipWithoutChromium }, async () => {
  const sitemap = await (await fetch(`${address}/sitemap.xml`)).text();
  const pages = [...sitemap.matchAll(/<loc>([^<]*)/g)].map(([, location = '']) => location);
  const heads = new Map<string, string>();
  for (const location of pages) {
    const html = await (await fetch(location.replace(docsOf('next'), address))).text();
    const [title, description, url] = ['title', 'description', 'url'].map((name) => contentOf(html, `og:${name}`));
    assert.equal(url, location);
    assert.ok(title && description && contentOf(html, 'description') === description, location);
    heads.set(`${title}: ${description}`, location);
  }
  assert.ok(pages.length > 100 && heads.size === pages.length);
});

const contentOf = (html: string, name: string) =>
  new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)"`).exec(html)?.[1];

const scriptIn = (block: string) =>
  commandsIn(block)
    .map(({ command }) => command)
    .join('\n');
