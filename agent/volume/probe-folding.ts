import { closeSync, existsSync, openSync } from 'node:fs';
import type { NameFolding } from '../plan/plan-input.ts';
import type { Folder } from './folder.ts';

/** One name as it is made, and the same in other case and in another normal form of Unicode. */
export const PROBE = 'probe-aé'.normalize('NFC');

/** Finds out which names the volume takes for the same, by making a file in the folder. */
export function probeFolding(folder: Folder): NameFolding {
  folder.unlink(PROBE);
  closeSync(openSync(folder.at(PROBE), 'wx', 0o644));
  try {
    return {
      case: existsSync(folder.at(PROBE.toUpperCase())),
      unicode: existsSync(folder.at(PROBE.normalize('NFD'))),
    };
  } finally {
    folder.unlink(PROBE);
  }
}
