#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { runProgram } from './program/run.ts';
import type { Host } from './terminal/host.ts';
import { wantsColours } from './terminal/ink.ts';

const { stdin, stdout, stderr, env } = process;

/** Whoever reads has seen enough, such as `head`. */
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

/** For a terminal that does not say how wide it is. */
const USUAL_COLUMNS = 80;

const host: Host = {
  print: (text) => void stdout.write(text),
  note: (text) => void stderr.write(text),
  get columns() {
    return stdout.isTTY ? stdout.columns || USUAL_COLUMNS : undefined;
  },
  hasColours: wantsColours(env, stdout.isTTY === true),
  confirm: stdin.isTTY && stderr.isTTY ? confirm : undefined,
  onExit,
  kubeconfigs: env.KUBECONFIG,
  now: () => Date.now(),
};

/** As a shell has it for what is interrupted. */
const INTERRUPTED = 130;

function onExit(leave: () => Promise<void>): () => void {
  const interrupt = () => void leave().finally(() => process.exit(INTERRUPTED));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, interrupt);
  return () => {
    for (const signal of signals) process.off(signal, interrupt);
  };
}

async function confirm(question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

process.exitCode = await runProgram(process.argv.slice(2), host);
