import { existsSync } from 'node:fs';
import { runCommand } from '../testbed/run-command.ts';

/** Tests that a directory can reach, next to those of `npm test` and those of the program in each group. */
const REACH: Record<string, string[]> = {
  agent: ['integration/path', 'limits/agent', 'servers', 'unit/cli', 'integration/cli'],
  controller: ['unit/hand-over', 'integration/path', 'limits/controller', 'chart', 'gitea'],
  receiver: ['unit/hand-over', 'integration/path', 'limits/receiver', 'gitea'],
  cli: ['browser'],
  chart: ['chart', 'monitoring'],
  docs: ['chart', 'site'],
  install: ['chart'],
  examples: ['chart', 'servers', 'site'],
  site: ['site'],
};
const PROGRAMS = new Set(['agent', 'controller', 'receiver', 'cli']);
/** Groups with a directory for each program. */
const DIVIDED = new Set(['unit', 'integration', 'limits']);
/** Other texts, and the end-to-end tests, which their own job runs. */
const NO_TESTS = /^tests\/e2e\/|^[^/]*\.md$/;

/** Returns the tests that these changed files can reach: directories, or `all`. */
export function reachOf(changed: string[]): string[] {
  const reached = changed.flatMap((file) => {
    if (NO_TESTS.test(file)) return [];
    const [directory = '', group = '', area = ''] = file.split('/');
    if (directory === 'tests' && group !== 'support') return [DIVIDED.has(group) ? `${group}/${area}` : group];
    const own = PROGRAMS.has(directory) ? [`unit/${directory}`, `integration/${directory}`] : [];
    return REACH[directory]?.concat(own) ?? ['all'];
  });
  return reached.includes('all') ? ['all'] : [...new Set(reached)].sort().map((name) => `tests/${name}`);
}

if (import.meta.main) {
  const [base = 'origin/main'] = process.argv.slice(2);
  const changed = await runCommand('git', ['diff', '--name-only', '--no-renames', `${base}...HEAD`]);
  const reached = reachOf(changed.split('\n').filter(Boolean));
  // A change can delete the last test of a directory.
  console.log(reached.filter((name) => name === 'all' || existsSync(name)).join(' '));
}
