/** A test or a whole suite. */
interface Entry {
  file: string;
  name: string;
}

/** What tests came to. */
export interface Tally {
  passed: number;
  failed: (Entry & { error: string })[];
  skipped: (Entry & { reason: string })[];
}

/** The tally of files, or a folder of them, that could not run: one failure. */
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

/** The tally of a group that cannot run on this machine, with the reason in one line. */
export function tallyOfSkip(group: string, { message }: Error): Tally {
  const reason = message.replaceAll('\n', ' ');
  return { passed: 0, failed: [], skipped: [{ file: `tests/${group}`, name: 'all tests', reason }] };
}

/** Says in words what all groups came to: what was skipped and why, what failed, and in the last line the totals. */
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

/** Enough to tell what went wrong where the end of a log is all that one sees. */
function beginningOf(error: string): string {
  const [line = '', ...more] = error.slice(0, 2000).split('\n');
  return [line, ...more.slice(0, 19).map((text) => `    ${text}`)].join('\n');
}

const listOf = (title: string, lines: string[]) =>
  lines.length > 0 ? [`${title}:`, ...lines.map((line) => `  ${line}`), ''] : [];
