import { TerminalError } from '../../shared/errors.ts';

/** One error for everything that stands in the way of a sync; the first few are named. */
export function syncProblems(reason: string, problems: string[]): TerminalError {
  const shown = problems.slice(0, 5).join('; ');
  const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
  return new TerminalError(`${shown}${more}`, { code: `sync.${reason}`, reason });
}
