import { lstatSync, readdirSync, renameSync, type Stats, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Fingerprint } from '../plan/manifest.ts';
import { KEPT_ENDING } from '../plan/next-manifest.ts';
import type { Folder } from './folder.ts';

/**
 * Names of files in the staging folder say what may become of them, since a kill leaves nothing else that could: a
 * number and the others of these are what the agent wrote, or a further name of what is in its place.
 */
const OWN = /^(?:\d+|manifest\.jsonl|(?:back|dropped)-\d+)$/;
const NEW_FOLDER = /^new-\d+$/;
const REPLACED = /^saved-\d+\.(.+)$/;
const KEPT = /^keep\.(.+\.kept)$/;

/** For what makes room and may go: the name holds what was seen there (of a file), so that anything else is told from it. */
export function replacedName(number: number, seen: Fingerprint | undefined): string {
  return `saved-${number}.${seen ? print(seen) : 'none'}`;
}

/** For what makes room, and has to come to this name in `.sync-agent/taken-over`. */
export const keepName = (name: string): string => `keep.${name}`;

const print = ({ size, mtimeMs, ino }: Fingerprint): string => `${size}-${mtimeMs}-${ino}`;

/** For a folder that is built with all its files, before it comes to its place. */
export const newFolderName = (number: number): string => `new-${number}`;

/** Whether a folder under this name is one of these. */
export const isNewFolder = (name: string): boolean => NEW_FOLDER.test(name);

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
  const wanted = KEPT.exec(name)?.[1] ?? `${`${staging}.${name}`.replace(/[^\w.-]/g, '_').slice(0, 200)}${KEPT_ENDING}`;
  const seen = print(lstatSync(source));
  let [number, target] = [1, kept.at(wanted)];
  let there = statOf(target);
  while (there && !(there.isFile() && print(there) === seen)) {
    number += 1;
    target = kept.at(`${number}.${wanted}`);
    there = statOf(target);
  }
  // By that look: what comes there by now is no reason to remove what is to be kept.
  if (there) unlinkSync(source);
  else renameSync(source, target);
}

const statOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });
