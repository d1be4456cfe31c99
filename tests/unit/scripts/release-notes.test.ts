import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const script = path.join(import.meta.dirname, '../../../scripts/release-notes.ts');

/** Creates a checkout of a version and returns the script's output for a tag. */
async function releaseNotes(
  t: TestContext,
  tag: string,
  given: { manifest?: string; appVersion?: string; page?: string } = {},
) {
  const { manifest = '1.2.3', appVersion = '1.2.3', page = '# Install' } = given;
  const root = await temporaryDirectory(t, 'release-');
  await mkdir(path.join(root, 'chart'));
  await mkdir(path.join(root, 'docs/how-to'), { recursive: true });
  await writeFile(path.join(root, 'docs/how-to/installation.md'), page);
  await writeFile(path.join(root, 'package.json'), JSON.stringify({ version: manifest }));
  await writeFile(path.join(root, 'chart/Chart.yaml'), `version: 1.2.3\nappVersion: ${appVersion}\n`);
  await writeFile(
    path.join(root, 'CHANGELOG.md'),
    '# Changelog\n\n## Unreleased\n\n- later\n\n## [1.2.3] - 2026-11-21\n\n### Added\n\n- this\n\n## 1.2.2\n\n- before\n',
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, tag, root], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

suite('the notes of a release', () => {
  test('are the section of the changelog for its version', async (t) => {
    const expected = { status: 0, stdout: '### Added\n\n- this\n', stderr: '' };
    assert.deepEqual(await releaseNotes(t, 'v1.2.3'), expected);
  });

  for (const [what, tag, given, message] of [
    ["a tag that isn't a version", 'v1.2', {}, /isn't the tag of a release/],
    ['another version in package.json', 'v1.2.3', { manifest: '1.2.4' }, /version in package\.json is 1\.2\.4/],
    ['another version in the chart', 'v1.2.3', { appVersion: '1.2.2' }, /appVersion in chart\/Chart\.yaml is 1\.2\.2/],
    [
      'a page that denies the release',
      'v1.2.3',
      { page: 'There is no release yet.' },
      /release: docs\/how-to\/installation\.md\./,
    ],
    ['a version that is only in the tag', 'v1.2.2', {}, /is 1\.2\.3/],
  ] as const) {
    test(`are rejected for ${what}`, async (t) => {
      const { status, stdout, stderr } = await releaseNotes(t, tag, given);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, message);
    });
  }
});
