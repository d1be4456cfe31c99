#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { EXIT } from './client/problem.ts';
import { COMPLETE } from './program/complete.ts';
import { nodeProblem } from './program/node-version.ts';
import { runProgram } from './program/run.ts';
import type { Host } from './terminal/host.ts';
import { wantsColours } from './terminal/ink.ts';

const { stdin, stdout, stderr, env, platform } = process;

/** A reader such as `head` may close the pipe early. */
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

/** Width of a terminal that doesn't report it. */
const USUAL_COLUMNS = 80;

const host: Host = {
  print: (text) => void stdout.write(text),
  note: (text) => void stderr.write(text),
  get columns() {
    return stdout.isTTY ? stdout.columns || USUAL_COLUMNS : undefined;
  },
  hasColours: wantsColours(env, stdout.isTTY === true),
  confirm: stdin.isTTY && stderr.isTTY ? confirm : undefined,
  input: () => text(stdin),
  openBrowser: stdout.isTTY && (platform === 'darwin' || env.DISPLAY || env.WAYLAND_DISPLAY) ? openBrowser : undefined,
  untilEnded: async () => {
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  },
  program: process.argv[1],
  kubeconfigs: env.KUBECONFIG,
  environment: env,
  now: () => Date.now(),
};

async function confirm(question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Opens the browser; errors are ignored, because the address is printed as well. */
function openBrowser(address: string): void {
  const program = platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(program, [address], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

const problem = nodeProblem(process.versions.node);
if (problem) host.note(`error: ${problem}\n`);
process.exitCode = problem ? EXIT.failed : await runProgram(process.argv.slice(2), host);
// A cluster or a credential plugin that doesn't answer must not hold up the shell.
if (process.argv[2] === COMPLETE) process.exit();
