import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { missingPage, releasesAmong } from '../../../../scripts/site/versions.ts';
import { docsAt, SITE } from '../../../../shared/docs-site.ts';

test('releases are listed by their version, the newest first, without pre-releases and other tags', () => {
  const tags = ['v0.9.0', 'v0.10.0', 'v1.0.0-rc.1', 'chart-1.0.0', 'v', 'v0.2.1', ''];
  assert.deepEqual(releasesAmong(tags), ['v0.10.0', 'v0.9.0', 'v0.2.1']);
});

test('a program links to the documentation of its version, or to the next one if it is not a release', () => {
  assert.equal(docsAt('1.2.3', 'how-to/upgrading.md#crds'), `${SITE}/v1.2.3/how-to/upgrading#crds`);
  for (const version of ['dev', '1.2.3-rc.1', '']) {
    assert.equal(docsAt(version, 'how-to/senders/README.md'), `${SITE}/next/how-to/senders/`, version);
  }
});

/** Returns the address that the page for missing addresses leads to. */
function leadsTo(pathname: string, hash = ''): string | undefined {
  const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(missingPage('/docs/', ['next', 'v1.0.0'])) ?? [];
  let target: string | undefined;
  const replace = (address: string) => {
    target = address;
  };
  runInNewContext(script, { location: { pathname, hash, replace } });
  return target;
}

test('a version that is not published leads to the same page of the next one', () => {
  assert.equal(leadsTo('/docs/v2.0.0/reference/alerts', '#syncnotready'), '/docs/next/reference/alerts#syncnotready');
});

test('a page that a version does not have leads to its start page', () => {
  assert.equal(leadsTo('/docs/v1.0.0/reference/new'), '/docs/v1.0.0/');
  assert.equal(leadsTo('/docs/next/'), undefined);
});
