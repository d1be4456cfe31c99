import { codeOf, TransientError } from '../../shared/errors.ts';

/** An error for an entry that differs from the scanned one. */
export const changed = (path: string) =>
  new TransientError(`${path} changed during the sync and was not overwritten; retrying`, {
    code: 'data.changed',
    reason: 'PathConflict',
  });

/** Runs a call that fails if an entry appears at a free path, or its directory disappears. */
export function orChanged<T>(path: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    const code = codeOf(error);
    if (['EEXIST', 'EISDIR', 'ENOENT'].includes(code)) throw changed(path);
    throw error;
  }
}
