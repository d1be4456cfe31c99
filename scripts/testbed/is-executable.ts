import { accessSync, constants } from 'node:fs';

/** Returns whether a file exists that we can run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
