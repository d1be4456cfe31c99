import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '../../shared/errors.ts';
import type { Target } from '../annotations/target.ts';
import type { Secrets } from './authorize.ts';

/** Where the secrets of one method come from: a file, or a value given as it is. */
export type SecretSource = { file: string } | { value: string };

export interface SecretSources {
  hmac?: SecretSource | undefined;
  bearer?: SecretSource | undefined;
}

/** The secrets of one method: those for all, and those of single resources by `<namespace>.<name>`. */
interface SecretSet {
  global: readonly string[];
  own: ReadonlyMap<string, readonly string[]>;
  /** Lines of the longest of all these. */
  most: number;
}

function secretSetOf(global: readonly string[], own: SecretSet['own'] = new Map()): SecretSet {
  return { global, own, most: Math.max(1, global.length, ...[...own.values()].map(({ length }) => length)) };
}

/** How old what was read from the files may be, in milliseconds. */
const REFRESH_MS = 1000;
/** The link changes about once a minute: more than a second look is hardly needed. */
const MAX_TRIES = 3;

/** The file is there, and says that nothing is accepted: a person's doing, unlike a missing file. */
const refusals = new Set(['EACCES', 'EPERM', 'EISDIR']);

/** Names of resources. The links by which Kubernetes swaps a mounted Secret begin with a dot. */
export const ownName = /^[a-z0-9][a-z0-9-]*\.[a-z0-9]/;

/**
 * Reads secrets as they are now. A resource with its own file, `<namespace>.<name>` next to a configured file,
 * accepts what is in it and no global value of either method. All files are read at once, whichever resource is asked
 * for: the time that takes tells nothing about a resource.
 */
export function createReadSecrets({ hmac, bearer }: SecretSources): (target: Target) => Promise<Secrets> {
  const readHmac = readerOf(hmac);
  const readBearer = readerOf(bearer);
  return async ({ namespace, name }) => {
    const hmacs = await readHmac?.();
    const tokens = await readBearer?.();
    const key = `${namespace}.${name}`;
    const ownHmac = hmacs?.own.get(key);
    const ownToken = tokens?.own.get(key);
    const mostSecrets = hmacs?.most ?? 0;
    if (ownHmac ?? ownToken) return { hmac: ownHmac ?? [], bearer: ownToken ?? [], mostSecrets };
    return { hmac: hmacs?.global, bearer: tokens?.global, mostSecrets };
  };
}

function readerOf(source: SecretSource | undefined): (() => Promise<SecretSet>) | undefined {
  if (!source) return undefined;
  if ('file' in source) {
    const folder = new SecretFolder(source.file);
    return () => folder.read();
  }
  const known = Promise.resolve(secretSetOf(linesOf(source.value)));
  return () => known;
}

/** A file with secrets, one a line, and the files next to it that replace it for one resource each. */
class SecretFolder {
  readonly #folder: string;
  readonly #file: string;
  #known: SecretSet = secretSetOf([]);
  #readAt = Number.NEGATIVE_INFINITY;
  #wasThere = false;
  /** Where the link of a mounted Secret led when it was read: Kubernetes changes all files by changing this. */
  #version: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(file: string) {
    this.#folder = dirname(file);
    this.#file = basename(file);
  }

  async read(): Promise<SecretSet> {
    if (performance.now() - this.#readAt >= REFRESH_MS) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
        this.#readAt = performance.now();
      });
      await this.#reading;
    }
    return this.#known;
  }

  /** What was read while the link was changed may be a part of what was there: it does not count. */
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
    return readlink(join(this.#folder, '..data')).catch(() => undefined);
  }

  /** Undefined where the folder is being replaced. */
  async #readAll(version: string | undefined) {
    // Behind the link all files change at once; the links to them come and go one by one.
    const folder = resolve(this.#folder, version ?? '.');
    const names = await readdir(folder).catch(() => undefined);
    const isThere = names?.includes(this.#file) ?? false;
    const { global, own } = this.#known;
    const ownNames = (names ?? []).filter((name) => ownName.test(name) && name !== this.#file);
    // What is behind the link is complete, also where it is nothing: somebody took this key out of the Secret.
    const isTakenOut = !isThere && version !== undefined && names !== undefined;
    // Any other folder without the file is one that is being replaced: its other files did not go by intent either.
    if (!isThere && !isTakenOut && (this.#wasThere || (!names && own.size > 0))) return undefined;
    const [file, ...files] = await Promise.all([
      isTakenOut ? NO_SECRETS : readSecretFile(join(folder, this.#file), global),
      ...ownNames.map((name) => readSecretFile(join(folder, name), own.get(name))),
    ]);
    const ownSecrets = files.map(({ secrets }, index) => [ownNames[index] ?? '', secrets] as const);
    const isRead = [file, ...files].every((each) => each.isRead);
    return { isThere, isRead, known: secretSetOf(file.secrets, new Map(ownSecrets)) };
  }
}

interface SecretFile {
  secrets: readonly string[];
  /** Whether that is what the file holds now. */
  isRead: boolean;
}

const NO_SECRETS: SecretFile = { secrets: [], isRead: true };

/** What cannot be read stays as it was, unless nobody is meant to read it. */
async function readSecretFile(file: string, before: readonly string[] = []): Promise<SecretFile> {
  try {
    return { secrets: linesOf(await readFile(file, 'utf8')), isRead: true };
  } catch (error) {
    const isRefused = refusals.has(codeOf(error));
    return isRefused ? NO_SECRETS : { secrets: before, isRead: false };
  }
}

/** The secrets of a text, one a line; blank lines and white space around a secret do not count. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
