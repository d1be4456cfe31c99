import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Target } from '../annotations/target.ts';
import type { Secrets } from './authorize.ts';

/** Where the secrets of one method come from: a file, or a value given as it is. */
export type SecretSource = { file: string } | { value: string };

export interface SecretSources {
  hmac?: SecretSource | undefined;
  bearer?: SecretSource | undefined;
}

/** The secrets of one method: those for all, and those of single resources by `<namespace>.<name>`. */
interface Known {
  global: readonly string[];
  own: ReadonlyMap<string, readonly string[]>;
  /** Lines of the longest of all these. */
  most: number;
}

function knownOf(global: readonly string[], own: Known['own'] = new Map()): Known {
  return { global, own, most: Math.max(1, global.length, ...[...own.values()].map(({ length }) => length)) };
}

/** How old what was read from the files may be, in milliseconds. */
const REFRESH_MS = 1000;

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
  const [readHmac, readBearer] = [readerOf(hmac), readerOf(bearer)];
  return async ({ namespace, name }) => {
    const [hmacs, tokens] = await Promise.all([readHmac?.(), readBearer?.()]);
    const key = `${namespace}.${name}`;
    const [ownHmac, ownToken] = [hmacs?.own.get(key), tokens?.own.get(key)];
    const mostSecrets = hmacs?.most ?? 0;
    if (ownHmac ?? ownToken) return { hmac: ownHmac ?? [], bearer: ownToken ?? [], mostSecrets };
    return { hmac: hmacs?.global, bearer: tokens?.global, mostSecrets };
  };
}

function readerOf(source: SecretSource | undefined): (() => Promise<Known>) | undefined {
  if (!source) return undefined;
  if ('file' in source) {
    const folder = new SecretFolder(source.file);
    return () => folder.read();
  }
  const known = Promise.resolve(knownOf(linesOf(source.value)));
  return () => known;
}

/** A file with secrets, one a line, and the files next to it that replace it for one resource each. */
class SecretFolder {
  readonly #folder: string;
  readonly #file: string;
  #known: Known = knownOf([]);
  #readAt = Number.NEGATIVE_INFINITY;
  #wasThere = false;
  /** Where the link of a mounted Secret led when it was read: Kubernetes changes all files by changing this. */
  #version: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(file: string) {
    this.#folder = dirname(file);
    this.#file = basename(file);
  }

  async read(): Promise<Known> {
    if (performance.now() - this.#readAt >= REFRESH_MS) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
        this.#readAt = performance.now();
      });
      await this.#reading;
    }
    return this.#known;
  }

  async #refresh(): Promise<void> {
    const version = await readlink(join(this.#folder, '..data')).catch(() => undefined);
    if (version !== undefined && version === this.#version) return;
    const names = await readdir(this.#folder).catch((): string[] => []);
    const isThere = names.includes(this.#file);
    // A folder without the file is one that is being replaced: its other files did not go by intent either.
    if (!isThere && this.#wasThere) return;
    this.#wasThere = isThere;
    const { global, own } = this.#known;
    const ownNames = names.filter((name) => ownName.test(name) && name !== this.#file);
    const read = await Promise.all(
      ownNames.map(async (name) => [name, await this.#readFile(name, own.get(name))] as const),
    );
    this.#known = knownOf(await this.#readFile(this.#file, global), new Map(read));
    this.#version = version;
  }

  /** What cannot be read stays as it was, unless nobody is meant to read it. */
  async #readFile(name: string, before: readonly string[] = []): Promise<readonly string[]> {
    try {
      return linesOf(await readFile(join(this.#folder, name), 'utf8'));
    } catch (error) {
      return refusals.has((error as NodeJS.ErrnoException).code ?? '') ? [] : before;
    }
  }
}

/** The secrets of a text, one a line; blank lines and white space around a secret do not count. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
