import { readlinkSync } from 'node:fs';
import { POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import type { Directory } from '../../disk/directory.ts';
import { trySymlink } from '../../disk/put-new.ts';
import { unlessCode } from '../../disk/unless-code.ts';
import { noLinks } from './state-errors.ts';

/** Start of the text of the link that takes the place of `.sync-agent`. The text isn't a path, so no program follows it. */
const MARK = `${POD_ANNOTATIONS.stateDirectory}=`;
/** A link in a directory elsewhere: its text, which isn't a path either, names the data that the directory belongs to. */
const OWNER = 'data-root';
const OWNER_MARK = `${OWNER}=`;

/** Codes for a link that doesn't exist, and for another kind of entry. */
const NO_LINK = ['ENOENT', 'EINVAL'];

/** Returns the text of a link; undefined if there is none. */
export function linkText(path: string): string | undefined {
  return unlessCode(NO_LINK, () => readlinkSync(path));
}

/** Returns the state directory that a link in the data names; undefined if it isn't such a link. */
export function stateAt(path: string): string | undefined {
  const text = linkText(path);
  return text?.startsWith(MARK) ? text.slice(MARK.length) : undefined;
}

/** Makes a link in the data that names a state directory, unless the path is taken. */
export const linkState = (path: string, state: string): void => makeLink(`${MARK}${state}`, path);

/** Returns the data that a state directory names; undefined if it names none. */
export function ownerOf(directory: Directory): string | undefined {
  const text = linkText(directory.at(OWNER));
  return text?.startsWith(OWNER_MARK) ? text.slice(OWNER_MARK.length) : text;
}

/** Makes a link in a state directory that names its data, unless it has one. */
export const linkOwner = (directory: Directory, owner: string): void =>
  makeLink(`${OWNER_MARK}${owner}`, directory.at(OWNER));

function makeLink(text: string, path: string): void {
  const isMade = unlessCode(['EEXIST'], () => trySymlink(text, path));
  if (isMade === false) throw noLinks();
}
