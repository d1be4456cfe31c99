/** A test or a whole suite. */
interface Entry {
  file: string;
  name: string;
}

/** Results of tests. */
export interface Tally {
  passed: number;
  failed: (Entry & { error: string })[];
  skipped: (Entry & { reason: string })[];
}

/** Returns the tally of files, or of a directory, that couldn't run: one failure. */
export function tallyOfFailure(file: string, error: Error): Tally {
  return { passed: 0, failed: [{ file, name: 'could not run', error: error.message }], skipped: [] };
}

export function sumOfTallies(tallies: Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.flatMap(({ failed }) => failed),
    skipped: tallies.flatMap(({ skipped }) => skipped),
  };
}

/** Returns the tally of a group that can't run on this machine, with the reason in one line. */
export function tallyOfSkip(group: string, { message }: Error): Tally {
  const reason = message.replaceAll('\n', ' ');
  return { passed: 0, failed: [], skipped: [{ file: `tests/${group}`, name: 'all tests', reason }] };
}

/** Describes the results of all groups: skipped tests with reasons, failures, and the totals in the last line. */
export function describeTallies(tallies: Tally[]): string {
  const { passed, failed, skipped } = sumOfTallies(tallies);
  return [
    ...listOf(
      'Skipped',
      skipped.map(({ file, name, reason }) => `${file}: ${name}: ${reason}`),
    ),
    ...listOf(
      'Failed',
      failed.map(({ file, name, error }) => `${file}: ${name}: ${beginningOf(error)}`),
    ),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ].join('\n');
}

/** Long enough to identify the problem if only the end of a log is visible. */
function beginningOf(error: string): string {
  const [line = '', ...more] = error.slice(0, 2000).split('\n');
  return [line, ...more.slice(0, 19).map((text) => `    ${text}`)].join('\n');
}

const listOf = (title: string, lines: string[]) =>
  lines.length > 0 ? [`${title}:`, ...lines.map((line) => `  ${line}`), ''] : [];
