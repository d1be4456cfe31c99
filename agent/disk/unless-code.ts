import { codeOf } from '../../shared/errors.ts';

/** Codes of a volume without space, or without inodes. */
export const FULL = ['ENOSPC', 'EDQUOT'];

/** Runs a call, and returns undefined if it fails with one of these codes. */
export function unlessCode<T>(codes: readonly string[], call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Runs a call, and returns false if it fails with one of these codes. */
export function succeedsUnless(codes: readonly string[], call: () => unknown): boolean {
  const done = unlessCode(codes, () => {
    call();
    return true;
  });
  return done ?? false;
}
