import { chmod, copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PROGRAMS, type Program } from './programs.ts';
import { readEntryPoint } from './read-entry-point.ts';

const checkout = path.join(import.meta.dirname, '../..');

/**
 * Puts the files of a program's image into a directory that is the root of its file system, and prints the entry point as
 * JSON, for builders that can't read the Dockerfile. It begins with Node: another base has no init, or its own.
 * Requires `npm run build`.
 */
async function assembleRoot(programName: string | undefined, root: string | undefined): Promise<void> {
  const program = parseProgram(programName);
  if (!root) throw new Error('The directory for the root file system is missing.');
  for (const { from, to } of listFiles(program)) {
    const target = path.join(root, to);
    await mkdir(path.dirname(target), { recursive: true });
    await copyFile(path.join(checkout, from), target);
    // An agent runs as the user of the gateway's container, which can be any user, so all can read.
    await chmod(target, 0o644);
    await chmod(path.dirname(target), 0o755);
  }
  await chmod(root, 0o755);
  const entryPoint = await readEntryPoint(program);
  process.stdout.write(`${JSON.stringify(entryPoint.slice(entryPoint.indexOf('node')))}\n`);
}

/** Reads the name of a program from a command line. Throws an error that lists the names. */
function parseProgram(text: string | undefined): Program {
  const program = PROGRAMS.find((name) => name === text);
  if (!program) throw new Error(`${text ?? 'nothing'} isn't a program: use one of ${PROGRAMS.join(', ')}.`);
  return program;
}

/** Lists the files that an image adds to its base image: their sources in the checkout, and their absolute paths. */
function listFiles(program: Program) {
  const bundles = program === 'agent' ? ['agent.mjs', 'check-worker.mjs', 'render-worker.mjs'] : [`${program}.mjs`];
  const files = bundles.flatMap((bundle) => [bundle, `${bundle}.map`, `${bundle}.LEGAL.txt`]);
  return [
    ...files.map((file) => ({ from: `dist/${file}`, to: `/app/${file}` })),
    { from: 'LICENSE', to: '/app/LICENSE' },
  ];
}

await assembleRoot(process.argv[2], process.argv[3]);
