import { hash } from 'node:crypto';
import { accessSync, constants, renameSync } from 'node:fs';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import type { Directory } from '../../disk/directory.ts';
import { HeldDirectory } from '../../disk/held-directory.ts';
import { statOf } from '../../disk/seen-file.ts';
import { FULL, succeedsUnless, unlessCode } from '../../disk/unless-code.ts';
import { foldName } from '../../plan/name-collisions.ts';
import type { DataRoot } from './data-root.ts';
import { PRIVATE } from './protect-directory.ts';

/** Name of the directory among the agent's. */
export const TAKEN_OVER = 'taken-over';
/** Ending of the names in it. */
const ENDING = '.kept';

/**
 * Files of others that the agent keeps, each under its own path with the ending `.kept`, so that programs that scan the
 * volume don't load it. Nothing is replaced or removed. Directories above kept entries don't have this ending, so that
 * the two never clash.
 */
export class TakenOver implements Disposable {
  readonly #top: Directory;
  readonly #held: HeldDirectory;
  /** Names that aren't used yet, without case. */
  readonly #reserved = new Set<string>();

  constructor(root: DataRoot) {
    this.#top = root.openAgentDirectory(TAKEN_OVER);
    this.#held = new HeldDirectory((path) => this.#top.openBelow(path, openIn));
  }

  /** Moves an entry there that was found at a path. */
  put(source: Buffer | string, path: string): void {
    renameSync(source, this.at(this.#freeName(path)));
  }

  /** Returns an unused name for the entry at a path, and creates its directories. Never returns it again. */
  reserve(path: string): string {
    const name = this.#freeName(path);
    this.#reserved.add(folded(name));
    return name;
  }

  /** Returns the path of a name, valid until the next call. */
  at(name: string): string {
    const [parent, entry] = splitPath(name);
    return this.#held.at(parent).at(entry);
  }

  /** Returns the path of the first entry that was found at a path, if there is one; valid until the next call. */
  firstOf(path: string): string {
    const { directory, name } = this.#placeOf(path);
    return directory.at(nameOf(name, 1));
  }

  /** On a full volume, an entry can still be moved, although no directory can be created for it. */
  #placeOf(path: string): { directory: Directory; name: string } {
    const [parent, name] = splitPath(path);
    const directory = unlessCode(FULL, () => this.#held.at(parent));
    return directory ? { directory, name } : { directory: this.#top, name: path.replaceAll('/', '_') };
  }

  #freeName(path: string): string {
    const { directory, name } = this.#placeOf(path);
    for (let number = 1; ; number += 1) {
      const kept = nameOf(name, number);
      const place = directory.pathOf(kept).slice(this.#top.pathOf('').length + 1);
      if (!statOf(directory.at(kept)) && !this.#reserved.has(folded(place))) return place;
    }
  }

  [Symbol.dispose](): void {
    this.#held.close();
    this.#top.close();
  }
}

/** Longest name that isn't shortened (bytes). All file systems support longer ones. */
const SHORT = 120;
/** Characters of the hash that distinguishes shortened names. */
const HASH = 8;

/** Adds an ending to a name. A long name is shortened: one that isn't valid text got longer when it was read as text. */
function withEnding(name: string, ending: string): string {
  if (Buffer.byteLength(`${name}${ending}`) <= SHORT) return `${name}${ending}`;
  const end = `~${hash('sha256', name).slice(0, HASH)}${ending}`;
  const start = Buffer.from(name).subarray(0, SHORT - Buffer.byteLength(end));
  // A character that was cut off becomes a replacement character, which can be longer.
  return `${start.toString().replace(/\ufffd+$/, '')}${end}`;
}

const nameOf = (name: string, number: number): string => withEnding(name, number > 1 ? `.${number}${ENDING}` : ENDING);

const folded = (name: string): string => foldName(name, { case: true, unicode: true });

/** Whether a name is that of a kept entry, and not that of a directory above some. */
export const isKeptName = (name: string): boolean => folded(name).endsWith(ENDING);

const FORBIDDEN = ['EACCES', 'EPERM'];
const UNUSABLE = [...FORBIDDEN, 'ENOTDIR', 'ELOOP', 'data.symbolicLink'];

const isWritable = (directory: Directory): boolean =>
  succeedsUnless(FORBIDDEN, () => accessSync(directory.at('.'), constants.W_OK | constants.X_OK));

/**
 * Opens the directory of this name, and creates it if necessary. A name that another kind of entry or a directory of
 * another user has gets a number.
 */
function openIn(above: Directory, name: string): Directory {
  for (let number = isKeptName(name) ? 2 : 1; ; number += 1) {
    const numbered = withEnding(name, number > 1 ? `.${number}` : '');
    if (above.make(numbered, PRIVATE)) return above.open(numbered);
    const directory = unlessCode(UNUSABLE, () => above.open(numbered));
    if (directory && isWritable(directory)) return directory;
    directory?.close();
  }
}
