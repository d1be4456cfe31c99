import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
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

async function run([name, [command = '', ...args]]: [name: string, command: string[]]) {
  const started = performance.now();
  const ended = await execute(command, args, { cwd: root, maxBuffer: Number.POSITIVE_INFINITY }).catch(
    (error) => error,
  );
  const { stdout, stderr, code = 0 } = ended as { stdout: string; stderr: string; code?: number | string };
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  return { name, output: stdout + stderr, status: code, seconds };
}
