import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { cacheDirectory, findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { isExecutable } from '../../scripts/testbed/is-executable.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import type { Container, Recipe } from './recipe.ts';

/** Directories of programs that the PATH of some users lacks. */
const PROGRAM_PATH = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];

/** Returns the path of a program, or undefined if it isn't installed. */
export const programPath = (name: string): string | undefined =>
  PROGRAM_PATH.map((directory) => path.join(directory, name)).find(isExecutable);

/** Returns the command of a container, with the programs of this machine. */
export async function commandOf({ image, command = [], args = [] }: Container): Promise<string[]> {
  const [program, ...others] = command.concat(args);
  if (program === undefined) return [process.execPath, await provideNodeRed(image), '--userDir=/data', '--port=1880'];
  if (program === 'node') return [process.execPath, ...others];
  if (program === 'prometheus') return [(await findBinaries('prometheus')).prometheus, ...others];
  return [programPath(program) ?? '', ...others];
}

/** Returns why the servers of a recipe can't run here, or undefined if they can. */
export async function missingServer({ template, before }: Recipe): Promise<string | undefined> {
  const [client = ''] = before.command.split(' ');
  if (!programPath(client)) return `it needs ${client}`;
  try {
    for (const container of template.spec.containers) {
      const [program] = await commandOf(container);
      if (!program) return `it needs ${container.command?.[0]}`;
    }
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Installs the Node-RED of an image in the cache if it isn't there yet; returns its main file. */
async function provideNodeRed(image: string): Promise<string> {
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
