import { spawn } from 'node:child_process';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const bin = (name: string) => path.join(root, 'node_modules/.bin', name);
const fix = process.argv.includes('--fix');

const sources = ['shared', 'receiver', 'controller', 'agent', 'cli', 'scripts', 'tests'];
const script = (name: string, ...args: string[]) => [process.execPath, path.join(root, 'scripts', name), ...args];

/** Checks of the sources by name; with --fix, some also fix what they find. */
const checks: Record<string, string[]> = {
  'format and lint': [bin('biome'), ...(fix ? ['check', '--write', '.'] : ['ci', '--colors=off', '.'])],
  types: [bin('tsc'), '--project', '.'],
  'types of the page': [bin('tsc'), '--project', 'cli/ui/page'],
  'import directions': [
    bin('depcruise'),
    ...sources,
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'err-long',
  ],
  'unused code': [bin('knip')],
  'generated files': script('generate.ts', ...(fix ? [] : ['--check'])),
  'plain English': script('prose/main.ts'),
  'hashes in the lock file': [process.execPath, '--test', path.join(root, 'tests/unit/scripts/lock-file.test.ts')],
};

const results = await Promise.all(Object.entries(checks).map(run));
for (const { name, output, status, seconds } of results) {
  console.log(`${status === 0 ? '✔' : '✖'} ${name} (${seconds} s)`);
  if (status !== 0) console.log(output);
}
process.exitCode = results.every(({ status }) => status === 0) ? 0 : 1;

function run([name, [command = '', ...args]]: [name: string, command: string[]]) {
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
