import { closeSync, constants, openSync, readSync } from 'node:fs';

/** For files that an adversary may have put there: neither follows a link nor waits for a pipe. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The first bytes of a file that anybody may have put there, as text: neither follows a link nor waits for a pipe. What
 * cannot be read is empty.
 */
export function readText(path: string, maxBytes: number): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, READ_FLAGS);
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes));
  } catch {
    return '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
