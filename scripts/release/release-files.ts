import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { archiveName, krewManifest } from '../krew-manifest.ts';
import { writeJsonSchemas } from '../site/json-schemas.ts';
import { SITE_ARCHIVE } from '../site/versions.ts';
import { runCommand } from '../testbed/run-command.ts';
import { renderInstallManifest } from './install-manifest.ts';

const root = path.join(import.meta.dirname, '../..');

/** Platforms of Node for which a release has an executable of `kubectl stoker`. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/** Name of the file with the SHA-256 of all others, which the workflow signs. */
const CHECKSUMS = 'checksums.txt';

/** Files that other jobs of the workflow make, because they need other machines or are pushed to a registry first. */
export const GIVEN_FILES = [
  ...PLATFORMS.map(archiveName),
  `kubectl-stoker-${manifest.version}.tgz`,
  `stoker-operator-${manifest.version}.tgz`,
  'digests.txt',
  SITE_ARCHIVE,
];

/** Lists the files that a directory lacks for a release. */
export async function missingFiles(directory: string): Promise<string[]> {
  const present = await readdir(directory);
  return GIVEN_FILES.filter((file) => !present.includes(file));
}

/** Adds the other files of a release to a directory, and the checksums of all files. */
export async function completeRelease(directory: string): Promise<void> {
  const write = (name: string, content: string) => writeFile(path.join(directory, name), content);
  await writeJsonSchemas(directory);
  await write('install.yaml', await renderInstallManifest());
  await write('crds.yaml', await readCrds());
  await write('stoker.yaml', await krewManifest(directory));
  await write('sbom.cdx.json', await runCommand('npm', ['run', '--silent', 'sbom'], { cwd: root }));
  await write(CHECKSUMS, await checksumsOf(directory));
}

/** Reads the CRDs as one manifest. */
export async function readCrds(): Promise<string> {
  const crds = path.join(root, 'chart/crds');
  const files = (await readdir(crds)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(crds, file), 'utf8')));
  return texts.map((text) => `---\n${text}`).join('');
}

/** Returns the SHA-256 of the files in a directory, as `sha256sum` prints them. */
async function checksumsOf(directory: string): Promise<string> {
  const files = (await readdir(directory)).filter((name) => name !== CHECKSUMS).sort();
  const lines = files.map(async (name) => {
    const content = await readFile(path.join(directory, name));
    return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`;
  });
  return (await Promise.all(lines)).join('');
}
