import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ConsoleCommand, commandsIn } from '../../../scripts/site/console-commands.ts';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { imageOf } from './cluster.ts';

const root = path.join(import.meta.dirname, '../../..');

/** Commands that need Docker, kind, or the internet. The cluster of the tests already has the images. */
const SKIPPED = /^(git clone|cd|kind|for program in) /;

/**
 * Runs the commands of a tutorial in order in one shell, and prints the ones that it skips. Fails if a command
 * fails, or if its output differs from the page. `adapt` replaces what the tests can't provide.
 */
export async function runTutorial(name: string, adapt: (command: string) => string): Promise<void> {
  const text = await readFile(path.join(root, 'docs/tutorials', name), 'utf8');
  const commands = consoleBlocks(text).flat();
  const skipped = commands.filter(({ command }) => SKIPPED.test(command));
  for (const { command } of skipped) console.log(`skipped: ${command}`);
  const script = commands
    .filter((command) => !skipped.includes(command))
    .map(({ command, output }) => asserted(adapt(withImages(command)), output))
    .join('\n');
  await run(`set -eu -o pipefail -m\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${script}\n`);
}

/** The images of a test have other names. */
function withImages(command: string): string {
  const images = Object.entries({
    image: 'controller',
    agentImage: 'agent',
    'webhookReceiver.image': 'receiver',
  } as const);
  const values = images.flatMap(([value, program]) => [
    `--set ${value}.repository=${imageOf(program).repository}`,
    `--set ${value}.tag=${imageOf(program).tag}`,
  ]);
  return command.replace(/^helm install .*/s, (install) => [install, '--take-ownership', ...values].join(' '));
}

/** Commit IDs, the user's name, and the age in the last column differ in the output of each run, and so do the widths. */
const CHANGING = 's/[0-9a-f]{40}/COMMIT/g; s/(kubernetes-)?admin/USER/g; s/ +([0-9]+[dhms])+$/ AGE/; s/  +/ /g';

/** Shell that runs a command, and fails where it prints something else than the page says. */
function asserted(command: string, output: string): string {
  if (!output) return command;
  const same = (text: string) => `"$(sed -E ${quote(CHANGING)} <<< ${text})"`;
  const complaint = `printf 'instead of the output on the page: %s\\n' "$actual" >&2`;
  return `actual=$(${command})\nif [ ${same('"$actual"')} != ${same(quote(output))} ]; then ${complaint}; exit 1; fi`;
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs a script like a user's shell, with the kubectl and helm of the tests. */
async function run(script: string): Promise<void> {
  const binaries = await findBinaries('helm', 'kubectl');
  const directories = [...new Set(Object.values(binaries).map((file) => path.dirname(file)))];
  const env = { ...process.env, PATH: [...directories, process.env.PATH].join(path.delimiter) };
  const child = spawn('bash', ['-x', '-c', script], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  assert.equal(status, 0, output);
}

/** The commands of each `console` block of a Markdown page, in order. */
function consoleBlocks(markdown: string): ConsoleCommand[][] {
  return [...markdown.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => commandsIn(block));
}
