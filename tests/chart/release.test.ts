import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { completeRelease, GIVEN_FILES, missingFiles } from '../../scripts/release/release-files.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('a release adds its manifests, schemas, and SBOM to the files of other jobs, and the checksums of all', async (t) => {
  const directory = await temporaryDirectory(t, 'release-');
  assert.deepEqual(await missingFiles(directory), GIVEN_FILES);
  for (const file of GIVEN_FILES) await writeFile(path.join(directory, file), file);
  assert.deepEqual(await missingFiles(directory), []);

  await completeRelease(directory);
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  assert.ok(
    files.every((file) => file.isFile()),
    'gh release create refuses directories',
  );
  const names = files.map(({ name }) => name).sort();
  const added = ['checksums.txt', 'crds.yaml', 'install.yaml', 'sbom.cdx.json', 'stoker.yaml'];
  const schemas = ['gatewaysync_v1alpha1.json', 'syncrelease_v1alpha1.json', 'syncreport_v1alpha1.json'];
  assert.deepEqual(names, [...GIVEN_FILES, ...added, ...schemas].sort());
  const checked = await runCommand('sha256sum', ['--check', '--strict', 'checksums.txt'], { cwd: directory });
  assert.deepEqual(
    checked.trim().split('\n'),
    names.filter((name) => name !== 'checksums.txt').map((name) => `${name}: OK`),
  );
  const { components } = JSON.parse(await readFile(path.join(directory, 'sbom.cdx.json'), 'utf8'));
  assert.ok(components.length > 5);

  // A second run replaces the files.
  await completeRelease(directory);
  await runCommand('sha256sum', ['--check', '--strict', 'checksums.txt'], { cwd: directory });
});
