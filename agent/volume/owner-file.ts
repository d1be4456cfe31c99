import { closeSync, fdatasync, openSync, readFileSync, write, writeSync } from 'node:fs';
import * as v from 'valibot';
import { readText } from '../../shared/io/read-text.ts';
import type { Directory } from './directory.ts';
import { statOf } from './seen-file.ts';

const NAME = 'owner.json';
const MAX_BYTES = 4096;

const ownerSchema = v.object({
  podUid: v.string(),
  pod: v.string(),
  node: v.optional(v.string()),
  lock: v.optional(v.string()),
});

/** The agent that owns the volume, as named in `.sync-agent/owner.json`. */
export type Owner = v.InferOutput<typeof ownerSchema>;

/** An owner and the time of its last heartbeat. */
export interface SeenOwner {
  owner: Owner;
  /** Milliseconds since 1970, by the clock of the volume. */
  touchedMs: number;
}

/** Reads the file that names the owner; undefined if there is no valid one. */
export function readOwner(directory: Directory): SeenOwner | undefined {
  const text = readText(directory.at(NAME), MAX_BYTES);
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ownerSchema), text, { abortEarly: true });
  const stats = statOf(directory.at(NAME));
  return parsed.success && stats ? { owner: parsed.output, touchedMs: stats.mtimeMs } : undefined;
}

/** The file that names this agent, which is touched periodically as a heartbeat. */
export class OwnerFile {
  readonly #descriptor: number;
  readonly #text: string;
  readonly #timer: NodeJS.Timeout;
  #isTouching = false;
  #isClosed = false;

  private constructor(descriptor: number, text: string, touchMs: number) {
    this.#descriptor = descriptor;
    this.#text = text;
    this.#timer = setInterval(() => this.#touch(), touchMs).unref();
  }

  /** Replaces any existing file, and touches the new one every `touchMs` milliseconds. */
  static write(directory: Directory, owner: Owner, touchMs: number): OwnerFile {
    directory.makeRoom(NAME);
    // Created, never opened, so that a link in its place has no effect.
    const descriptor = openSync(directory.at(NAME), 'wx', 0o600);
    try {
      const text = `${JSON.stringify(owner)}\n`;
      writeSync(descriptor, text);
      return new OwnerFile(descriptor, text, touchMs);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  static remove(directory: Directory): void {
    directory.unlink(NAME);
  }

  /** Writes, so that the time is from the volume's clock. Errors are left to the next sync. */
  #touch(): void {
    if (this.#isTouching) return;
    this.#isTouching = true;
    write(this.#descriptor, this.#text, 0, () => fdatasync(this.#descriptor, () => this.#onTouched()));
  }

  #onTouched(): void {
    this.#isTouching = false;
    if (this.#isClosed) closeSync(this.#descriptor);
  }

  /** A pending write keeps the file open, because the system reuses the number of a closed file. */
  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    if (!this.#isTouching) closeSync(this.#descriptor);
  }
}

/** Identifies the running kernel; undefined if the system has no ID. */
export function kernelId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
