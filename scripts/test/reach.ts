import { runCommand } from '../testbed/run-command.ts';

/** Tests that a directory of the programs can reach, next to those of `npm test`. */
const REACH: Record<string, string[]> = {
  agent: ['unit/agent', 'integration/agent', 'integration/path', 'limits/agent', 'servers'],
  controller: ['unit/controller', 'unit/hand-over', 'integration/controller', 'integration/path', 'limits/controller'],
  receiver: ['unit/receiver', 'unit/hand-over', 'integration/receiver', 'integration/path', 'limits/receiver', 'gitea'],
  cli: ['unit/cli', 'integration/cli', 'browser'],
  chart: ['chart', 'monitoring'],
};
/** Texts, and the end-to-end tests, which their own job runs. */
const NO_TESTS = /^(docs|examples|site|install|tests\/e2e)\/|\.md$/;

/** Returns the tests that these changed files can reach: directories, or `all`. */
export function reachOf(changed: string[]): string[] {
  const reached = changed.flatMap((file) => {
    if (NO_TESTS.test(file)) return [];
    const [directory = '', group = '', area = ''] = file.split('/');
    if (directory === 'tests' && group !== 'support') return [file.split('/').length > 3 ? `${group}/${area}` : group];
    return REACH[directory] ?? ['all'];
  });
  return reached.includes('all') ? ['all'] : [...new Set(reached)].sort().map((name) => `tests/${name}`);
}

if (import.meta.main) {
  const [base = 'origin/main'] = process.argv.slice(2);
  const changed = await runCommand('git', ['diff', '--name-only', '--no-renames', `${base}...HEAD`]);
  console.log(reachOf(changed.split('\n').filter(Boolean)).join(' '));
}
