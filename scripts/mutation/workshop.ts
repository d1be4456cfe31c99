import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import path from 'node:path';
import { readMemory } from '../bench/process-usage.ts';
import { makeTemporaryFolder, type TemporaryFolder } from '../testbed/temporary-folder.ts';
import { type Coverage, readCoverage } from './coverage.ts';
import type { Mutant } from './list-mutants.ts';

const root = path.join(import.meta.dirname, '../..');

/** What is there next to the sources, and too large to be copied. */
const LINKED = ['node_modules', '.git'];
const LEFT_OUT = [...LINKED, 'dist'];

/** Mutants make loops without end: tests that take longer, and five times as long as without it, have noticed one. In milliseconds. */
const PATIENCE_MS = 30_000;
/** How long a test file may take to be asked at all. In milliseconds. */
const SLOWEST_MS = 60_000;

/** What mutants that fill memory without end get, in MB: a test file needs a tenth of it. Known where there is a /proc. */
const MOST_MEMORY_MB = 2_000;
const MEMORY_PERIOD_MS = 200;

/** With `--check` it says whether generated files are up to date: that is the test of what is only a part of the CRDs. */
export const GENERATOR = 'scripts/generate.ts';

/** How a test file runs without any mutant: how long it takes, and what runs of the sources. */
export interface TestRun {
  ms: number;
  coverage: Coverage;
}

/** A copy of the project in which mutants are tried one after the other, at low priority. */
export class Workshop {
  readonly #folder: TemporaryFolder;
  #child: ChildProcess | undefined;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
  }

  static async open(): Promise<Workshop> {
    const folder = await makeTemporaryFolder('mutation-');
    const isCopied = (from: string) => !LEFT_OUT.includes(path.relative(root, from));
    await cp(root, folder.path, { recursive: true, filter: isCopied });
    for (const name of LINKED) await symlink(path.join(root, name), path.join(folder.path, name));
    return new Workshop(folder);
  }

  /** Runs a test file as it is. Undefined where it fails, or takes too long. */
  async runOnce(test: string): Promise<TestRun | undefined> {
    const reports = await mkdtemp(path.join(this.#folder.path, 'coverage-'));
    const started = performance.now();
    const { hasPassed } = await this.#test([test], { ms: SLOWEST_MS, env: { NODE_V8_COVERAGE: reports } });
    const ms = performance.now() - started;
    const run = hasPassed ? { ms, coverage: await readCoverage(reports, this.#folder.path) } : undefined;
    await rm(reports, { recursive: true });
    return run;
  }

  /** Runs tests with the mutant, which take `ms` without it, and says whether one of them fails, or has no end in time or memory. */
  async try({ file, start, end, replacement }: Mutant, tests: string[], ms: number): Promise<Verdict> {
    const target = path.join(this.#folder.path, file);
    const source = await readFile(target, 'utf8');
    await writeFile(target, source.slice(0, start) + replacement + source.slice(end));
    // Each process compiles a hundred modules: half of what a small test costs.
    const env = { NODE_COMPILE_CACHE: path.join(this.#folder.path, 'compiled') };
    try {
      const { hasPassed, hasEnded } = await this.#test(tests, { ms: Math.max(PATIENCE_MS, 5 * ms), env });
      return hasPassed ? 'survived' : hasEnded ? 'noticed' : 'no end';
    } finally {
      await writeFile(target, source);
    }
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#folder.remove();
  }

  async #test(tests: string[], limits: Limits): Promise<Outcome> {
    const files = tests.filter((test) => test !== GENERATOR);
    const flags = ['--import=./scripts/test/slim-imports.ts', '--test', '--test-isolation=none'];
    const reporter = ['--test-reporter=./scripts/mutation/stop-at-failure.ts', '--test-reporter-destination=stdout'];
    const outcome = files.length > 0 ? await this.#run([...flags, ...reporter, ...files], limits) : PASSED;
    return outcome.hasPassed && tests.includes(GENERATOR) ? await this.#run([GENERATOR, '--check'], limits) : outcome;
  }

  #run(args: string[], { ms, env }: Limits): Promise<Outcome> {
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
    const child = spawn(process.execPath, args, {
      cwd: this.#folder.path,
      env: { ...inherited, ...env },
      stdio: 'ignore',
    });
    this.#child = child;
    if (child.pid) setPriority(child.pid, 19);
    const timer = setTimeout(() => child.kill('SIGKILL'), ms);
    const watch = setInterval(() => void endIfLarge(child), MEMORY_PERIOD_MS);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        clearInterval(watch);
        resolve({ hasPassed: code === 0, hasEnded: signal !== 'SIGKILL' });
      });
    });
  }
}

async function endIfLarge(child: ChildProcess): Promise<void> {
  const { now } = await readMemory(child.pid ?? 0).catch(() => ({ now: 0 })); // it has just ended
  if (now > MOST_MEMORY_MB) child.kill('SIGKILL');
}

/** What tests say of a mutant. */
export type Verdict = 'survived' | 'noticed' | 'no end';

interface Outcome {
  hasPassed: boolean;
  hasEnded: boolean;
}

const PASSED: Outcome = { hasPassed: true, hasEnded: true };

/** How long tests may take, in milliseconds. */
interface Limits {
  ms: number;
  env: NodeJS.ProcessEnv;
}
