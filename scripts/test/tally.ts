/** A test or a whole suite. */
interface Entry {
  file: string;
  name: string;
}

/** What tests came to. */
export interface Tally {
  passed: number;
  failed: Entry[];
  skipped: (Entry & { reason: string })[];
}

/** The tally of a group that could not run: one failure. */
export function tallyOfFailure(group: string, error: Error): Tally {
  const [reason = ''] = error.message.split('\n');
  return { passed: 0, failed: [{ file: `tests/${group}`, name: `could not run: ${reason}` }], skipped: [] };
}

/** Says in words what all groups came to: what was skipped and why, what failed, and in the last line the totals. */
export function describeTallies(tallies: Tally[]): string {
  const skipped = tallies.flatMap((tally) => tally.skipped);
  const failed = tallies.flatMap((tally) => tally.failed);
  const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0);
  return [
    ...listOf(
      'Skipped',
      skipped.map(({ file, name, reason }) => `${file}: ${name}: ${reason}`),
    ),
    ...listOf(
      'Failed',
      failed.map(({ file, name }) => `${file}: ${name}`),
    ),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ].join('\n');
}

const listOf = (title: string, lines: string[]) =>
  lines.length > 0 ? [`${title}:`, ...lines.map((line) => `  ${line}`), ''] : [];
