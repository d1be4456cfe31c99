import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Program } from '../../../scripts/images/programs.ts';
import { type GuardedProcess, startGuarded } from '../../../scripts/testbed/guarded-process.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';

const checkout = path.join(import.meta.dirname, '../../..');
const scripts = path.join(checkout, 'scripts/images');

/** The root file system of an image, made on this machine. */
export interface ImageRoot extends TemporaryDirectory {
  entryPoint: string[];
}

/** Assembles the content of an image above its base. */
export async function assembleImage(program: Program): Promise<ImageRoot> {
  const directory = await makeTemporaryDirectory(`image-${program}-`);
  const script = path.join(scripts, 'assemble-root.ts');
  const entryPoint = JSON.parse(await runCommand(process.execPath, [script, program, directory.path]));
  return { ...directory, entryPoint };
}

/** Adds the system programs that the Dockerfile names for an image, with the libraries of this machine. */
export async function addSystem(root: ImageRoot, program: Program): Promise<void> {
  const dockerfile = await readFile(path.join(checkout, 'Dockerfile'), 'utf8');
  const names = new RegExp(`make-root\\.sh /roots/${program} (.*?)(?: \\\\)?$`, 'm').exec(dockerfile)?.[1]?.split(' ');
  if (!names) throw new Error(`The Dockerfile makes no root for ${program}.`);
  const given = names.map((name) => (name === 'node' ? `${process.execPath}=/usr/local/bin/node` : name));
  await runCommand(path.join(scripts, 'make-root.sh'), [root.path, ...given]);
}

/** Returns the reason why programs can't run in a separate root on this machine, if there is one. */
export async function obstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid?.() !== 0) return 'it needs root';
  return await runCommand('unshare', ['--mount', 'true']).then(
    () => undefined,
    () => 'this machine does not allow new namespaces',
  );
}

/** Device files come from the machine, in a namespace of mounts that ends with the program. */
const enter = 'mkdir -p "$1/dev" && mount --rbind /dev "$1/dev" && exec chroot --userspec=65532:65532 "$@"';

/** Runs a command that sees nothing but a root, as the user of the images. */
export function startInRoot(root: ImageRoot, command: string[], environment: Record<string, string>): GuardedProcess {
  // The last directory is for chroot itself, and empty in the root.
  const env = { PATH: '/usr/local/bin:/usr/bin:/usr/sbin', ...environment };
  return startGuarded('unshare', ['--mount', 'sh', '-c', enter, 'sh', root.path, ...command], { env, output: 'pipe' });
}
