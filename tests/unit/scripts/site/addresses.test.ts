import assert from 'node:assert/strict';
import { test } from 'node:test';
import manifest from '../../../../package.json' with { type: 'json' };
import { filesWithoutPage, pageFor, pathOfPage, REPOSITORY, targetOf } from '../../../../scripts/site/addresses.ts';
import { docsAt } from '../../../../shared/docs-site.ts';

const target = (link: string, file: string, ref = 'main') => targetOf(link, file, ref);

test('a Markdown file of the docs, the chart, or the examples has a page', () => {
  const paths = Object.entries({
    'docs/README.md': '/',
    'docs/how-to/senders/README.md': '/how-to/senders/',
    'docs/reference/alerts.md': '/reference/alerts',
    'chart/README.md': '/reference/chart-values',
    'CONTRIBUTING.md': '/contributing/',
    'examples/README.md': '/examples/',
    'examples/nginx/README.md': '/examples/nginx/',
  });
  for (const [file, expected] of paths) assert.equal(pathOfPage(pageFor(file) ?? 'none'), expected, file);
  for (const file of ['README.md', 'examples/nginx/repository/README.md', 'docs/images/x.png', 'cli/README.md']) {
    assert.equal(pageFor(file), undefined, file);
  }
});

test('other Markdown files are not on the site, and installed packages are not searched', () => {
  const files = filesWithoutPage();
  assert.ok(files.includes('cli/README.md') && !files.includes('chart/README.md'));
  assert.ok(!files.some((file) => file.includes('node_modules/')));
});

test('a link between pages leads to the page, with its anchor', () => {
  assert.equal(target('../../chart/README.md#values', 'docs/how-to/sizing.md'), '/reference/chart-values#values');
  assert.equal(target('senders/', 'docs/how-to/installation.md'), '/how-to/senders/');
  assert.equal(target('../README.md', 'docs/how-to/sizing.md'), '/');
});

test('a link to another file leads to GitHub, at the release that the site describes', () => {
  assert.equal(target('../../Dockerfile', 'docs/how-to/sizing.md', 'v1.2.3'), `${REPOSITORY}/blob/v1.2.3/Dockerfile`);
  assert.equal(target('../../scripts', 'docs/how-to/sizing.md'), `${REPOSITORY}/tree/main/scripts`);
});

test('a link to the published page of this version stays in the version that is built', () => {
  const published = docsAt(manifest.version, 'how-to/upgrading.md#crds');
  assert.equal(target(published, 'chart/README.md'), '/how-to/upgrading#crds');
  assert.equal(target(docsAt(manifest.version, ''), 'chart/README.md'), '/');
  const other = docsAt('99.0.0', 'how-to/upgrading.md');
  assert.equal(target(other, 'chart/README.md'), other);
});

test('other links stay as they are', () => {
  for (const link of ['https://example.com/a.md', 'mailto:a@example.com', '#values']) {
    assert.equal(target(link, 'docs/README.md'), link);
  }
});

test('a link to a file that does not exist fails the build', () => {
  assert.throws(
    () => target('missing.md', 'docs/README.md'),
    /docs\/README\.md: missing\.md: there is no docs\/missing/,
  );
});
