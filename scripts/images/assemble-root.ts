import { chmod, copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PROGRAMS } from './programs.ts';
import { readEntryPoint } from './read-entry-point.ts';

// Puts the files of a program's image into a directory that is the root of its file system, and prints the entry point as
// JSON, for builders that can't read the Dockerfile. It begins with Node: another base has no init, or its own.
// Requires `npm run build`.
//   assemble-root.ts PROGRAM DIRECTORY

const checkout = path.join(import.meta.dirname, '../..');
const [name, root] = process.argv.slice(2);
const program = PROGRAMS.find((each) => each === name);
if (!program || !root) throw new Error(`specify a program (${PROGRAMS.join(', ')}) and a directory`);

const bundles = program === 'agent' ? ['agent.mjs', 'check-worker.mjs', 'render-worker.mjs'] : [`${program}.mjs`];
const files = bundles.flatMap((bundle) => [bundle, `${bundle}.map`, `${bundle}.LEGAL.txt`]);
const app = path.join(root, 'app');
await mkdir(app, { recursive: true });
for (const file of [...files.map((each) => `dist/${each}`), 'LICENSE']) {
  const target = path.join(app, path.basename(file));
  await copyFile(path.join(checkout, file), target);
  // An agent runs as the user of the gateway's container, which can be any user, so all can read.
  await chmod(target, 0o644);
}
for (const directory of [root, app]) await chmod(directory, 0o755);
const entryPoint = await readEntryPoint(program);
process.stdout.write(`${JSON.stringify(entryPoint.slice(entryPoint.indexOf('node')))}\n`);
