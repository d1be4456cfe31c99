import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import type { Host } from '../../shared/host.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';
import { createLogger, type LogOptions } from '../../shared/log.ts';
import { cleanUp, type Scope } from './clean-up.ts';
import { type Program, untilMatch } from './program.ts';

/** A program that runs in the process of its test: without a start, and with other times than in production. */
export interface OwnProgram<Ending> extends Pick<Program, 'output' | 'waitForLog'> {
  /** Resolves when the program has ended. */
  ended: Promise<Ending>;
  /** Shuts the program down and waits until it has ended. */
  stop(): Promise<Ending>;
}

/** Time for a program to end after its test (ms); a query to a server that doesn't respond can take longer. */
const END_MS = 2_000;

/** Runs a program with an environment of PATH, HOME, and `env`, whose KUBECONFIG it uses. It is stopped after the test. */
export function startOwnProgram<Ending>(
  t: Scope,
  { name, env, level }: { name: string; env: Record<string, string>; level: LogOptions['level'] },
  run: (host: Host) => Promise<Ending>,
): OwnProgram<Ending> {
  let output = '';
  let hasEnded = false;
  const write = (line: string) => {
    output += line;
  };
  const stopping = new AbortController();
  const config = new KubeConfig();
  config.loadFromFile(env.KUBECONFIG ?? '');
  const { PATH, HOME } = process.env;
  const ended = run({
    signal: stopping.signal,
    log: createLogger(name, { level, write }),
    environment: { PATH, HOME, ...env },
    credentials: new ApiCredentials(config),
  }).finally(() => {
    hasEnded = true;
  });
  ended.catch((error: Error) => write(`${error.stack}\n`));
  const stop = () => {
    stopping.abort();
    return ended;
  };
  cleanUp(t, () => Promise.race([stop(), sleep(END_MS, undefined, { ref: false })]));
  return {
    ended,
    stop,
    get output() {
      return output;
    },
    waitForLog: (pattern, timeout) => untilMatch(() => ({ output, ended: hasEnded }), pattern, timeout),
  };
}
