import { chmod, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { archiveName, krewManifest } from './krew-manifest.ts';
import { fetchNode, officialNode } from './release/official-node.ts';
import { runCommand } from './testbed/run-command.ts';

const root = path.join(import.meta.dirname, '..');
const dist = path.join(root, 'dist');
const platform = `${process.platform}-${process.arch}`;
/** Licences of the packages in the bundle. */
const LEGAL = 'kubectl-stoker.mjs.LEGAL.txt';

/** Makes the directory that is published as an npm package from the bundle of `kubectl stoker`. Requires `npm run build`. */
async function makeNpmPackage(): Promise<string> {
  const directory = path.join(dist, 'kubectl-stoker');
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const own = JSON.parse(await readFile(path.join(root, 'cli/package.json'), 'utf8')) as object;
  const published = JSON.stringify({ ...own, version: manifest.version }, null, 2);
  await writeFile(path.join(directory, 'package.json'), `${published}\n`);
  for (const file of ['kubectl-stoker.mjs', LEGAL]) await copyFile(path.join(dist, file), path.join(directory, file));
  await copyFile(path.join(root, 'LICENSE'), path.join(directory, 'LICENSE'));
  await cp(path.join(root, 'cli/completion'), path.join(directory, 'completion'), { recursive: true });
  await copyFile(path.join(root, 'cli/README.md'), path.join(directory, 'README.md'));
  await chmod(path.join(directory, 'kubectl-stoker.mjs'), 0o755);
  return directory;
}

/**
 * Makes one executable that doesn't need Node, for this machine's platform: the bundle inside a Node
 * (https://nodejs.org/api/single-executable-applications.html).
 */
async function makeExecutable(node: string): Promise<string> {
  const directory = path.join(dist, platform);
  await mkdir(directory, { recursive: true });
  const output = path.join(directory, 'kubectl-stoker');
  const config = path.join(directory, 'sea.json');
  const main = path.join(dist, 'kubectl-stoker.mjs');
  await writeFile(config, JSON.stringify({ main, mainFormat: 'module', output, disableExperimentalSEAWarning: true }));
  await runCommand(node, ['--build-sea', config]);
  await rm(config);
  // macOS kills programs that aren't signed.
  if (process.platform === 'darwin') await runCommand('codesign', ['--force', '--sign', '-', output]);
  return output;
}

/** Packs it into the archive for a release. */
async function makeArchive(executable: string): Promise<string> {
  const archive = path.join(dist, 'archives', archiveName(platform));
  await mkdir(path.dirname(archive), { recursive: true });
  const directory = path.dirname(executable);
  const program = path.basename(executable);
  const own = ['-C', root, 'LICENSE', '-C', path.join(root, 'cli'), 'completion'];
  await runCommand('tar', ['-czf', archive, ...own, '-C', dist, LEGAL, '-C', directory, program]);
  return archive;
}

const { values } = parseArgs({ options: { 'official-node': { type: 'boolean' } } });
const directory = await makeNpmPackage();
// The Node of node_modules is from an npm package that the Node project doesn't publish.
const node = values['official-node'] ? await fetchNode(dist, officialNode(platform)) : process.execPath;
const executable = await makeExecutable(node);
const archive = await makeArchive(executable);
const krew = path.join(dist, 'stoker.yaml');
await writeFile(krew, await krewManifest(path.dirname(archive)));
for (const made of [directory, executable, archive, krew]) console.log(path.relative(root, made));
