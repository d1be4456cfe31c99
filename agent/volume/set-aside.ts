import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, renameSync, type Stats, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Fingerprint } from '../plan/manifest.ts';
import type { Folder } from './folder.ts';

/**
 * Names of files in the staging folder say what may become of them, since a kill leaves nothing else that could: a
 * number and the others of these are what the agent wrote, or a further name of what is in its place.
 */
const OWN = /^(?:\d+|manifest\.jsonl|(?:back|dropped)-\d+)$/;
const REPLACED = /^saved-\d+\.(.+)$/;
const KEPT = /^keep\.(.+)$/;
/** Folders with files that the agent wrote, which come into place as a whole, and such that are about to be removed. */
const NEW_FOLDER = /^(?:new-\d+|gone-[\da-f-]{36})$/;

/** For what makes room and may go: the name holds what was seen there (of a file), so that anything else is told from it. */
export function replacedName(number: number, seen: Fingerprint | undefined): string {
  return `saved-${number}.${seen ? print(seen) : 'none'}`;
}

/** For what makes room, and has to come to this name in `.sync-agent/taken-over`. */
export const keepName = (name: string): string => `keep.${name}`;

/** The name of a folder that is to come into place as a whole. */
export const newFolderName = (number: number): string => `new-${number}`;

/** A name for such a folder that is to be removed: nobody else moves what has it. */
export const capturedName = (): string => `gone-${randomUUID()}`;

/** Whether all files in a folder of this name are the agent's. */
export const isNewFolder = (name: string): boolean => NEW_FOLDER.test(name);

const print = ({ size, mtimeMs, ino }: Fingerprint): string => `${size}-${mtimeMs}-${ino}`;

/** Whether a file or a link under this name is what the agent wrote, or a further name of what is in its place. */
export const isOwn = (name: string): boolean => OWN.test(name);

/** Whether nobody but the agent needs what lies in a staging folder under this name. */
export function isExpendable(name: string, stats: Stats): boolean {
  if (stats.isDirectory()) return false;
  const expected = REPLACED.exec(name)?.[1];
  return expected === undefined ? isOwn(name) : expected === (stats.isFile() ? print(stats) : 'none');
}

/** Names of what is kept: a look, which makes no folder. */
export function keptNames({ agentFolder }: { agentFolder: string }): Set<string> {
  try {
    return new Set(readdirSync(join(agentFolder, 'taken-over')));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return new Set();
    throw error;
  }
}

/** Moves what is somebody else's to the folder with what was taken over, under the name that the manifest has for it. */
export function putAside(
  source: Buffer,
  { staging, name, kept }: { staging: string; name: string; kept: Folder },
): void {
  const given = KEPT.exec(name)?.[1] ?? `${staging}.${name}`;
  const wanted = given.replace(/[^\w.-]/g, '_').slice(0, 200);
  const stats = lstatSync(source);
  let [number, target] = [1, kept.at(wanted)];
  for (let there = statOf(target); there; there = statOf(target)) {
    if (there.isFile() && print(there) === print(stats)) break;
    number += 1;
    target = kept.at(`${number}.${wanted}`);
  }
  if (statOf(target)) unlinkSync(source);
  else renameSync(source, target);
}

const statOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });
