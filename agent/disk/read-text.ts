import { closeSync, constants, openSync, readSync } from 'node:fs';

/** For files that an adversary can create: follows no link, and doesn't wait for a pipe. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads the first bytes of an untrusted file as text: follows no link, and doesn't wait for a pipe. Returns an empty
 * string for unreadable files.
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
