import { randomUUID } from 'node:crypto';
import { renameSync, unlinkSync } from 'node:fs';
import type { Directory } from '../../disk/directory.ts';
import { isSameFile, statOf } from '../../disk/seen-file.ts';
import { displacedName, KEPT_ENDING } from '../../plan/next-manifest.ts';
import type { Stores } from './stores.ts';

/**
 * Moves an entry of `saved` that isn't the agent's to `taken-over`, under its name in the manifest if it has one. A
 * name that is taken gets a prefix.
 */
export function putAside(source: Buffer | string, wanted: string, { takenOver }: Pick<Stores, 'takenOver'>): void {
  const target = takenOver.at(wanted);
  if (isSameFile(source, target)) unlinkSync(source);
  else renameSync(source, statOf(target) ? takenOver.at(`${randomUUID()}.${wanted}`) : target);
}

/** Returns an unused name in `taken-over` for the entry at a path, so that nothing there is replaced. */
export function freeName(path: string, takenOver: Directory): string {
  for (let number = 1; ; number += 1) {
    const name = displacedName(path, number);
    if (!statOf(takenOver.at(name))) return name;
  }
}

/** A name in `taken-over` for an entry that the manifest doesn't name. */
export const nameAside = (name: string): string => `saved.${name.replace(/[^\w.-]/g, '_').slice(0, 180)}${KEPT_ENDING}`;
