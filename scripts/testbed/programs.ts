import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../images/programs.ts';
import { readNodeFlags } from '../images/read-entry-point.ts';
import { freePort } from './free-port.ts';
import { type GuardedProcess, startGuarded, tailOf } from './guarded-process.ts';

const root = path.join(import.meta.dirname, '../..');

/** Generous, because a controller of 10,000 resources lists them first. */
const READY_WITHIN_MS = 120_000;

/** Settings of a program whose servers, including git servers, are all on this machine. */
const LOCAL = { RECEIVER_HOST: '127.0.0.1', GIT_ALLOW_LOCAL: 'true', DEFAULT_AGENT_IMAGE: 'agent:1' };

/** A program of the product that runs on this machine. */
export interface RunningProgram extends GuardedProcess {
  /** File with its log. */
  log: string;
  healthPort: string;
  metricsPort: string;
}

interface ProgramOptions {
  /** Name of its log; default: the name of the program. */
  name?: string;
  /** Directory of its log. */
  logs: string;
  /** Environment, including KUBECONFIG. Its ports of health checks and metrics, except 0, are replaced by free ones. */
  environment: Record<string, string>;
}

/**
 * Returns a function that starts a bundle with this Node and the flags of its image, each time with the same ports. The
 * logs of all starts are in one file.
 */
export async function programStarter(program: Program, options: ProgramOptions): Promise<() => RunningProgram> {
  const { name = program, logs, environment } = options;
  const { PATH = '', HOME = '' } = process.env;
  const HEALTH_PORT = String(await freePort());
  const METRICS_PORT = environment.METRICS_PORT === '0' ? '0' : String(await freePort());
  const env = { PATH, HOME, MALLOC_ARENA_MAX: '1', ...LOCAL, ...environment, HEALTH_PORT, METRICS_PORT };
  const command = [...(await readNodeFlags(program)), path.join(root, 'dist', `${program}.mjs`)];
  const log = path.join(logs, `${name}.log`);
  await mkdir(logs, { recursive: true });
  return () => {
    const started = startGuarded(process.execPath, command, { env, output: { log } });
    return { ...started, log, healthPort: HEALTH_PORT, metricsPort: METRICS_PORT };
  };
}

/** Starts a bundle, and waits until it is ready. An agent is ready after its first sync, so it only has to run. */
export async function startProgram(program: Program, options: ProgramOptions): Promise<RunningProgram> {
  const started = (await programStarter(program, options))();
  const { healthPort, hasExited, log } = started;
  const url = `http://127.0.0.1:${healthPort}/${program === 'agent' ? 'healthz' : 'readyz'}`;
  for (const deadline = Date.now() + READY_WITHIN_MS; Date.now() < deadline && !hasExited(); await sleep(20)) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return started;
  }
  throw new Error(`${program} did not start. Its log:\n${await tailOf(log)}`);
}
