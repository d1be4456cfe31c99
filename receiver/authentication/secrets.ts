import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { codeOf } from '../../shared/errors.ts';
import type { Secrets } from './authorize.ts';
import { hmacKeyOf } from './hmac-key.ts';
import { type Prepare, SecretSet } from './secret-set.ts';
import { tokenDigest } from './verify-token.ts';

/** Source of the secrets of one method: a file or a value. */
export type SecretSource = { file: string } | { value: string };

export interface SecretSources {
  hmac?: SecretSource | undefined;
  bearer?: SecretSource | undefined;
}

/** Maximum age of secrets read from files (ms). */
const REFRESH_MS = 1000;
/** Reads until the link is stable; it changes about once a minute, so two are usually enough. */
const MAX_TRIES = 3;

/** Errors that an administrator caused, unlike a missing file. The file then accepts nothing. */
const refusals = new Set(['EACCES', 'EPERM', 'EISDIR']);

/** Names of resources. Names of the links that Kubernetes uses to swap a mounted Secret begin with a dot. */
export const ownName = /^[a-z0-9][a-z0-9-]*\.[a-z0-9]/;

/**
 * Creates a function that reads the current secrets. A resource with its own file, `<namespace>.<name>` in the directory
 * of a configured file, accepts only the secrets in it, and no global secret of either method. All files are read at
 * once for any resource, and each resource gets the same number of secrets, so that the duration reveals nothing about a
 * resource.
 */
export function createReadSecrets({ hmac, bearer }: SecretSources): (resource: ResourceName) => Promise<Secrets> {
  const readHmac = readerOf(hmac, hmacKeyOf);
  const readBearer = readerOf(bearer, tokenDigest);
  return async ({ namespace, name }) => {
    const hmacs = await readHmac?.();
    const tokens = await readBearer?.();
    const key = `${namespace}.${name}`;
    const hasOwn = hmacs?.own.has(key) || tokens?.own.has(key);
    const accepted = <T>(set: SecretSet<T>) => set.padded(hasOwn ? (set.own.get(key) ?? []) : set.global);
    return { hmac: hmacs && accepted(hmacs), bearer: tokens && accepted(tokens) };
  };
}

function readerOf<T>(source: SecretSource | undefined, prepare: Prepare<T>): (() => Promise<SecretSet<T>>) | undefined {
  if (!source) return undefined;
  if ('file' in source) {
    const directory = new SecretDirectory(source.file, prepare);
    return () => directory.read();
  }
  const known = new SecretSet(linesOf(source.value).map(prepare), new Map(), prepare);
  return async () => known;
}

/** A file with one secret per line, and the files in its directory that override it for single resources. */
class SecretDirectory<T> {
  readonly #directory: string;
  readonly #file: string;
  readonly #prepare: Prepare<T>;
  #known: SecretSet<T>;
  #readAt = Number.NEGATIVE_INFINITY;
  #wasThere = false;
  /** Target of a mounted Secret's link when it was read. Kubernetes updates all files by changing the link. */
  #version: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(file: string, prepare: Prepare<T>) {
    this.#directory = dirname(file);
    this.#file = basename(file);
    this.#prepare = prepare;
    this.#known = new SecretSet([], new Map(), prepare);
  }

  async read(): Promise<SecretSet<T>> {
    if (performance.now() - this.#readAt >= REFRESH_MS) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
        this.#readAt = performance.now();
      });
      await this.#reading;
    }
    return this.#known;
  }

  /** Discards files that were read while the link changed, because they may be incomplete. */
  async #refresh(): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const version = await this.#linked();
      if (version !== undefined && version === this.#version) return;
      const found = await this.#readAll(version);
      if ((await this.#linked()) !== version) continue;
      if (!found) return;
      this.#wasThere = found.isThere;
      this.#known = found.known;
      this.#version = found.isRead ? version : undefined;
      return;
    }
  }

  #linked(): Promise<string | undefined> {
    return readlink(join(this.#directory, '..data')).catch(() => undefined);
  }

  /** Reads all files. Undefined if the directory is being replaced. */
  async #readAll(version: string | undefined) {
    // Files behind the link change at once; links to single files change one by one.
    const directory = resolve(this.#directory, version ?? '.');
    const names = await readdir(directory).catch(() => undefined);
    const isThere = names?.includes(this.#file) ?? false;
    const { global, own } = this.#known;
    const ownNames = (names ?? []).filter((name) => ownName.test(name) && name !== this.#file);
    // The directory behind the link is complete, so a missing file means that its key was removed from the Secret.
    const isTakenOut = !isThere && version !== undefined && names !== undefined;
    // Any other directory without the file is being replaced, so its other files weren't removed intentionally either.
    if (!isThere && !isTakenOut && (this.#wasThere || (!names && own.size > 0))) return undefined;
    const readEach = (name: string, before: readonly T[] = []) =>
      readSecretFile(join(directory, name), { before, prepare: this.#prepare });
    const [file, ...files] = await Promise.all([
      isTakenOut ? { secrets: [], isRead: true } : readEach(this.#file, global),
      ...ownNames.map((name) => readEach(name, own.get(name))),
    ]);
    const ownSecrets = new Map(files.map(({ secrets }, index) => [ownNames[index] ?? '', secrets] as const));
    const isRead = [file, ...files].every((each) => each.isRead);
    return { isThere, isRead, known: new SecretSet(file.secrets, ownSecrets, this.#prepare) };
  }
}

interface SecretFile<T> {
  secrets: readonly T[];
  /** Whether these are the file's current secrets. */
  isRead: boolean;
}

/** Reads a file. Keeps the previous secrets if it can't be read, unless access to it was denied. */
async function readSecretFile<T>(
  file: string,
  { before, prepare }: { before: readonly T[]; prepare: Prepare<T> },
): Promise<SecretFile<T>> {
  try {
    return { secrets: linesOf(await readFile(file, 'utf8')).map(prepare), isRead: true };
  } catch (error) {
    const isRefused = refusals.has(codeOf(error));
    return isRefused ? { secrets: [], isRead: true } : { secrets: before, isRead: false };
  }
}

/** The secrets of a text, one per line; ignores blank lines and surrounding white space. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
