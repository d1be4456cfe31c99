import path from 'node:path';

/** Test files with the longest durations. */
export const LONGEST = [
  'tests/chart/faults.test.ts',
  'tests/chart/effects.test.ts',
  'tests/chart/rights.test.ts',
  'tests/chart/upgrade.test.ts',
  'tests/limits/agent/kill.test.ts',
  'tests/integration/agent/life.test.ts',
  'tests/integration/agent/outages.test.ts',
  'tests/integration/agent/rollout.test.ts',
  'tests/limits/agent/race.test.ts',
  'tests/limits/agent/hostile-gateway.test.ts',
  'tests/integration/controller/github-app.test.ts',
  'tests/integration/controller/leadership.test.ts',
  'tests/limits/controller/memory.test.ts',
  'tests/unit/controller/polling/large-answer.test.ts',
  'tests/unit/controller/polling/lying-host.test.ts',
];

/**
 * Sorts files so that the longest begin first, because a late start leaves a CPU idle at the end. Node runs files in the
 * order of their names, with absolute paths before others.
 */
export function longestFirst(files: string[], root: string): string[] {
  return files.map((file) => (LONGEST.includes(file) ? path.join(root, file) : file));
}
