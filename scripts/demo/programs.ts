import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../images/programs.ts';
import { readNodeFlags } from '../images/read-entry-point.ts';
import { freePort } from '../testbed/free-port.ts';
import { type GuardedProcess, startGuarded } from '../testbed/guarded-process.ts';

const root = path.join(import.meta.dirname, '../..');

/** Generous, because a controller of 10,000 resources lists them first. */
const READY_WITHIN_MS = 120_000;

/** A program of the product that runs on this machine. */
export interface RunningProgram extends GuardedProcess {
  /** File with its log. */
  log: string;
}

/**
 * Starts a bundle with this Node and the flags of its image, and waits until it is ready; `logs` is the directory of its
 * log, and `moreFlags` are additional flags for Node.
 */
export async function startProgram(
  name: Program,
  environment: Record<string, string>,
  logs: string,
  moreFlags: string[] = [],
): Promise<RunningProgram> {
  const log = path.join(logs, `${name}.log`);
  const health = await freePort();
  const { PATH = '', HOME = '' } = process.env;
  const flags = [...(await readNodeFlags(name)), ...moreFlags];
  const started = startGuarded(process.execPath, [...flags, path.join(root, 'dist', `${name}.mjs`)], {
    env: { PATH, HOME, MALLOC_ARENA_MAX: '1', ...environment, HEALTH_PORT: String(health) },
    output: { log },
  });
  await untilHealthy(name, { port: health, hasExited: started.hasExited, log });
  return { ...started, log };
}

async function untilHealthy(
  name: string,
  { port, hasExited, log }: { port: number; hasExited: () => boolean; log: string },
): Promise<void> {
  for (const deadline = Date.now() + READY_WITHIN_MS; Date.now() < deadline; await sleep(20)) {
    if (hasExited()) break;
    const path = name === 'agent' ? 'healthz' : 'readyz';
    const response = await fetch(`http://127.0.0.1:${port}/${path}`).catch(() => undefined);
    if (response?.ok) return;
  }
  throw new Error(`${name} did not start. Its log:\n${(await readFile(log, 'utf8')).slice(-4_000)}`);
}
