import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { Slots } from '../../shared/domain/limits/slots.ts';
import { type GuardedProcess, startGuarded } from '../testbed/guarded-process.ts';
import { makeTemporaryDirectory } from '../testbed/temporary-directory.ts';
import { readUses, sumOfTallies, type Tally, tallyOfFailure } from './tally.ts';

const root = path.join(import.meta.dirname, '../..');
const scriptAt = (name: string) => path.join(import.meta.dirname, name);

/** Helm and kubectl exit before they would need a garbage collection, which takes up to a third of their CPU time. */
const garbageCollection = { GOGC: 'off', GOMEMLIMIT: '512MiB' };

/** Options for running test files. */
export interface RunOptions {
  /** Printed above the output. */
  group: string;
  /** Options for node. */
  flags: string[];
  env: NodeJS.ProcessEnv;
  /** Maximum number of files at a time. */
  concurrency: number;
  /** Prints the output of a process when it exits. If omitted, the process prints while it runs. */
  print?: ((output: string) => void) | undefined;
}

/** Milliseconds without output after which a process is ended: twice the limit of a test. */
const SILENCE_MS = 600_000;
/** Milliseconds in which an interrupted process writes the results that it has. */
const INTERRUPTED_MS = 5_000;

/** Prints the output of a process at once, so that it isn't mixed with others'. */
export const printWhole = (output: string): void => void process.stdout.write(output);

/** Runs each test file in its own process, with Node's test runner, and returns the results. */
export function runNodeTests(files: string[], { concurrency, ...options }: RunOptions): Promise<Tally> {
  const flags = [`--test-concurrency=${concurrency}`, ...options.flags];
  return runNode(files, { ...options, flags });
}

/** Tests that start git many times: starting a program costs more if the process uses more memory. */
const STARTING = /^tests\/unit\/agent\/(gateway|git|inspection|lfs|preview|signatures|sync|volume)\//;

/** Divides unit tests into those that share a process, and run there in sequence. Neighbours have similar imports. */
function sharesOf(files: string[]): string[][] {
  const { starting = [], others = [] } = Object.groupBy(files, (file) => (STARTING.test(file) ? 'starting' : 'others'));
  return [...chunksOf(others, Math.ceil(others.length / 12)), ...chunksOf(starting, 4)];
}

function chunksOf(files: string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, index) =>
    files.slice(index * size, (index + 1) * size),
  );
}

/** Runs unit tests: most of the cost of a small file are its imports, so such files share processes. */
export async function runSharedTests(files: string[], { concurrency, ...options }: RunOptions): Promise<Tally> {
  const slots = new Slots(concurrency);
  const shares = sharesOf(files);
  const flags = ['--test-isolation=none', ...options.flags];
  const { print = shares.length > 1 ? printWhole : undefined } = options;
  const runShare = async (share: string[]): Promise<Tally> => {
    const tally = runNode(share, { ...options, flags, print });
    return await tally.catch((error: Error) => tallyOfFailure(share.join(', '), error));
  };
  const tallies = shares.map((share) => slots.run(() => runShare(share)));
  return sumOfTallies(await Promise.all(tallies));
}

/** The runner is guarded: it ends with this process, and all its test files end with it. */
async function runNode(files: string[], options: Omit<RunOptions, 'concurrency'>): Promise<Tally> {
  const { group, flags, env, print } = options;
  const heading = `\n== ${group} (test files: ${files.length})\n`;
  const directory = await makeTemporaryDirectory('test-run-');
  try {
    const file = path.join(directory.path, 'tally.json');
    const args = [
      ...['--import', scriptAt('slim-imports.ts'), '--import', scriptAt('watch-process.ts')],
      ...['--test', `--test-reporter=${scriptAt('reporter.ts')}`],
      // Ends tests that hang; generous because the machine may be busy.
      '--test-timeout=300000',
    ];
    // Each process compiles a hundred modules: two thirds of the cost of a small test file.
    const compiled = { NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/compiled') };
    const usage = path.join(directory.path, 'usage');
    const environment = {
      ...process.env,
      ...compiled,
      ...garbageCollection,
      ...env,
      TEST_TALLY: file,
      TEST_USAGE: usage,
    };
    if (!print) process.stdout.write(heading);
    const runner = startGuarded(process.execPath, [...args, ...flags, ...files], {
      cwd: root,
      env: environment,
      output: 'pipe',
    });
    runner.child.ref();
    const isSilent = await followOutput(runner, { heading, print });
    const { code, signal } = await runner.exited;
    const json = await readFile(file, 'utf8').catch(() => '');
    if (isSilent && json === '') throw new Error(`no test ended, and nothing was printed, for ${SILENCE_MS / 1000} s`);
    const end = signal ?? `status ${code}`;
    // A test that exits the process also ends the reporter, regardless of the status.
    if (json === '') throw new Error(`the test runner ended with ${end}, before its tests did`);
    const tally = JSON.parse(json) as Omit<Tally, 'uses'>;
    if (code !== 0 && tally.failed.length === 0) throw new Error(`the test runner ended with ${end}`);
    return { ...tally, uses: await readUses(usage) };
  } finally {
    await directory.remove();
  }
}

/**
 * Prints the output of a process, and returns when it ends. A process that prints nothing for too long is interrupted, so
 * that it names the files that didn't end, and killed: it would run forever if a test hangs, or if a program that survived
 * its test still has the output open.
 */
async function followOutput(
  { child, killAll }: GuardedProcess,
  { heading, print }: { heading: string; print: RunOptions['print'] },
): Promise<boolean> {
  const chunks: string[] = [heading];
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    child.kill('SIGINT');
    setTimeout(killAll, INTERRUPTED_MS).unref();
  }, SILENCE_MS);
  const follow = async (stream: Readable | null, show: NodeJS.WriteStream) => {
    for await (const chunk of stream?.setEncoding('utf8') ?? []) {
      timer.refresh();
      if (print) chunks.push(chunk as string);
      else show.write(chunk as string);
    }
  };
  await Promise.all([follow(child.stdout, process.stdout), follow(child.stderr, process.stderr)]);
  clearTimeout(timer);
  print?.(chunks.join(''));
  return isSilent;
}
