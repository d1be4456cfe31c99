import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseSecrets } from './parse-secrets.ts';

/** How old what was read from the files may be, in milliseconds. */
const REFRESH_MS = 1000;

/** The file is there, and says that nothing is accepted: a person's doing, unlike a file that is away. */
const refusals = new Set(['EACCES', 'EPERM', 'EISDIR']);

/** The secrets of one method: those of the resource, where it has some, and those of all. */
export interface Peeked {
  own: readonly string[] | undefined;
  global: readonly string[] | undefined;
}

interface Known {
  secrets: readonly string[];
  readAt: number;
}

/**
 * A file with secrets, one a line, and files beside it that replace it for one resource each. They are read again
 * when somebody asks and a second has passed; while the file is away the last good value stays.
 */
export class SecretFile {
  readonly #folder: string;
  readonly #file: string;
  readonly #own = new Map<string, Known>();
  #global: Known = { secrets: [], readAt: Number.NEGATIVE_INFINITY };
  #names: ReadonlySet<string> = new Set();
  #wasThere = false;
  #refreshing: Promise<void> | undefined;

  constructor(file: string) {
    this.#folder = dirname(file);
    this.#file = basename(file);
  }

  /** What has been read within the last second; undefined where something has to be read. */
  peek(name: string): Peeked | undefined {
    if (!isFresh(this.#global)) return undefined;
    const global = this.#global.secrets;
    if (!this.#names.has(name)) return { own: undefined, global };
    const own = this.#own.get(name);
    return own && isFresh(own) ? { own: own.secrets, global } : undefined;
  }

  /** The secrets of the file itself; none where it is empty, unreadable or was never there. */
  async global(): Promise<readonly string[]> {
    await this.#refresh();
    return this.#global.secrets;
  }

  /** The secrets of the file of that name in the same folder; undefined where there is none. */
  async own(name: string): Promise<readonly string[] | undefined> {
    await this.#refresh();
    if (!this.#names.has(name)) return undefined;
    const known = await this.#reread(name, this.#own.get(name));
    if (this.#names.has(name)) this.#own.set(name, known);
    return known.secrets;
  }

  async #refresh(): Promise<void> {
    if (isFresh(this.#global)) return;
    this.#refreshing ??= this.#readAll().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  async #readAll(): Promise<void> {
    const names = new Set(await readdir(this.#folder).catch(() => []));
    const isThere = names.has(this.#file);
    // A folder without the file is one that is being replaced: its other files did not go by intent either.
    if (isThere || !this.#wasThere) this.#names = names;
    this.#wasThere ||= isThere;
    for (const name of this.#own.keys()) {
      if (!this.#names.has(name)) this.#own.delete(name);
    }
    this.#global = await this.#reread(this.#file, this.#global);
  }

  async #reread(name: string, known?: Known): Promise<Known> {
    if (known && isFresh(known)) return known;
    const readAt = performance.now();
    try {
      return { secrets: parseSecrets(await readFile(join(this.#folder, name), 'utf8')), readAt };
    } catch (error) {
      const isRefused = refusals.has((error as NodeJS.ErrnoException).code ?? '');
      return { secrets: isRefused ? [] : (known?.secrets ?? []), readAt };
    }
  }
}

function isFresh({ readAt }: Known): boolean {
  return performance.now() - readAt < REFRESH_MS;
}
