import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { missingPage, releasesAmong, SITE_ARCHIVE, unpackReleases } from '../../../../scripts/site/versions.ts';
import { docsAt, SITE } from '../../../../shared/docs-site.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

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

/** Serves the files of releases as GitHub does, or a status instead of a file, and returns the address. */
async function serveReleases(t: TestContext, files: Record<string, Buffer | number>): Promise<string> {
  return await startHttpHost(t, ({ url = '' }, response) => {
    const file = files[url] ?? 404;
    response.statusCode = typeof file === 'number' ? file : 200;
    response.end(typeof file === 'number' ? '' : file);
  });
}

/** Packs a site with one page. */
async function archiveOf(t: TestContext, page: string): Promise<Buffer> {
  const directory = await temporaryDirectory(t, 'site-');
  await mkdir(path.join(directory, 'how-to'));
  await writeFile(path.join(directory, 'how-to/upgrading.html'), page);
  return execFileSync('tar', ['--create', '--gzip', '--directory', directory, '.']);
}

test('the site has the releases with an archive, and a tag without one does not stop the others', async (t) => {
  const downloads = await serveReleases(t, {
    [`/v1.1.0/${SITE_ARCHIVE}`]: await archiveOf(t, 'new'),
    [`/v0.9.0/${SITE_ARCHIVE}`]: await archiveOf(t, 'old'),
  });
  const directory = await temporaryDirectory(t, 'versions-');
  const unpacked = await unpackReleases(['v1.1.0', 'v1.0.0', 'v0.9.0'], directory, downloads);
  assert.deepEqual(unpacked, ['v1.1.0', 'v0.9.0']);
  assert.deepEqual((await readdir(directory)).sort(), ['v0.9.0', 'v1.1.0']);
  assert.equal(await readFile(path.join(directory, 'v1.1.0/how-to/upgrading.html'), 'utf8'), 'new');
  assert.equal(await readFile(path.join(directory, 'v0.9.0/how-to/upgrading.html'), 'utf8'), 'old');
});

test('a published version is not removed because its archive cannot be downloaded or read', async (t) => {
  const downloads = await serveReleases(t, {
    [`/v1.0.0/${SITE_ARCHIVE}`]: 503,
    [`/v0.9.0/${SITE_ARCHIVE}`]: Buffer.from('damaged'),
  });
  const directory = await temporaryDirectory(t, 'versions-');
  await assert.rejects(unpackReleases(['v1.0.0'], directory, downloads), /v1\.0\.0\/site\.tar\.gz: status 503/);
  await assert.rejects(unpackReleases(['v0.9.0'], directory, downloads), /tar/);
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
  assert.equal(leadsTo('/docs/next/old/'), '/docs/next/');
  assert.equal(leadsTo('/docs/next/'), undefined);
});

test('an address without a version leads to the same page of the newest release', () => {
  assert.equal(leadsTo('/docs/how-to/upgrading', '#crds'), '/docs/v1.0.0/how-to/upgrading#crds');
});
