import { spawn } from 'node:child_process';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const bin = (name: string) => path.join(root, 'node_modules/.bin', name);
const fix = process.argv.includes('--fix');

/** Checks of the sources; with --fix, some also fix what they find. */
const checks: { name: string; command: string; args: string[] }[] = [
  {
    name: 'format and lint',
    command: bin('biome'),
    args: fix ? ['check', '--write', '.'] : ['ci', '--colors=off', '.'],
  },
  { name: 'types', command: bin('tsc'), args: ['--project', '.'] },
  { name: 'types of the page', command: bin('tsc'), args: ['--project', 'cli/ui/page'] },
  {
    name: 'import directions',
    command: bin('depcruise'),
    args: [
      'shared',
      'receiver',
      'controller',
      'agent',
      'cli',
      'scripts',
      'tests',
      '--config',
      '.dependency-cruiser.cjs',
      '--output-type',
      'err-long',
    ],
  },
  { name: 'unused code', command: bin('knip'), args: [] },
  {
    name: 'generated files',
    command: process.execPath,
    args: [path.join(root, 'scripts/generate.ts'), ...(fix ? [] : ['--check'])],
  },
  { name: 'plain English', command: process.execPath, args: [path.join(root, 'scripts/prose/main.ts')] },
  {
    name: 'hashes in the lock file',
    command: process.execPath,
    args: ['--test', path.join(root, 'tests/unit/scripts/lock-file.test.ts')],
  },
];

const results = await Promise.all(checks.map(run));
for (const { name, output, status, seconds } of results) {
  console.log(`${status === 0 ? '✔' : '✖'} ${name} (${seconds} s)`);
  if (status !== 0) console.log(output);
}
process.exitCode = results.every(({ status }) => status === 0) ? 0 : 1;

function run({ name, command, args }: (typeof checks)[number]) {
  const started = performance.now();
  return new Promise<{ name: string; output: string; status: number; seconds: string }>((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk;
      });
    }
    child.on('close', (code) => {
      resolve({ name, output, status: code ?? 1, seconds: ((performance.now() - started) / 1000).toFixed(1) });
    });
  });
}
