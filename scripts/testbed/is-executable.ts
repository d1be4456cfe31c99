import { accessSync, constants } from 'node:fs';

/** Whether a file is there that we may run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
