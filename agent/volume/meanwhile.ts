import { TransientError } from '../../shared/errors.ts';

/** The error where something is not as it was looked at. */
export const changed = (path: string) =>
  new TransientError(`${path} changed during the sync and was not overwritten; retrying`, {
    code: 'data.changed',
    reason: 'PathConflict',
  });

/** Runs a call, in which something may come to a path where nothing was, or its folder may go. */
export function meanwhile<T>(path: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EEXIST', 'EISDIR', 'ENOENT'].includes(code)) throw changed(path);
    throw error;
  }
}
