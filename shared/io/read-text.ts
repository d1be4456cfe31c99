import { closeSync, constants, openSync, readSync } from 'node:fs';

/**
 * The first bytes of a file that anybody may have put there, as text: neither follows a link nor waits for a pipe. What
 * cannot be read is empty.
 */
export function readText(path: string, maxBytes: number): string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes));
  } catch {
    return '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
