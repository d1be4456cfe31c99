import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { cacheDirectory } from '../../scripts/testbed/find-binaries.ts';
import { isExecutable } from '../../scripts/testbed/is-executable.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';

/** Installs the Node-RED of an image in the cache if it isn't there yet; returns its main file. */
export async function provideNodeRed(image: string): Promise<string> {
  const version = image.split(':')[1] ?? '';
  const directory = path.join(cacheDirectory(), `node-red-${version}`);
  const file = path.join(directory, 'node_modules/node-red/red.js');
  if (isExecutable(file)) return file;
  const unfinished = `${directory}.${process.pid}`;
  try {
    await mkdir(unfinished, { recursive: true });
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', unfinished];
    await runCommand('npm', ['install', ...flags, `node-red@${version}`]);
    await rename(unfinished, directory);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return file;
}
