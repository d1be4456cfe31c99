import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { WaitingError } from '../../shared/errors.ts';
import type { Identity } from '../plan/template-values.ts';
import type { DataRoot } from './data-root.ts';

export interface LockTimes {
  /** Milliseconds between two signs of life. */
  beatMs: number;
  /** Milliseconds without one after which an agent counts as gone. */
  staleMs: number;
}

const TIMES: LockTimes = { beatMs: 10_000, staleMs: 35_000 };

const ownerSchema = v.object({ podUid: v.string(), pod: v.string() });

/**
 * Keeps a second agent away from a data volume: a file beside the manifest names the pod, and is written again and
 * again. An agent of the same pod takes over at once, since the earlier one must have ended; that of another pod when
 * the signs of life stop. Ages are told by the times of the volume's own file system, never by comparing clocks.
 */
export class VolumeLock {
  readonly #root: DataRoot;
  readonly #file: string;
  readonly #text: string;
  readonly #podUid: string;
  readonly #times: LockTimes;
  #timer: NodeJS.Timeout | undefined;

  constructor(root: DataRoot, { podUid, podName, namespace }: Identity, times = TIMES) {
    this.#root = root;
    this.#file = join(root.agentFolder, 'owner.json');
    this.#text = JSON.stringify({ podUid, pod: `${namespace}/${podName}` });
    this.#podUid = podUid;
    this.#times = times;
  }

  /** Takes the lock, and gives whether it was not held before. Throws {@link WaitingError} where another pod has it. */
  async hold(): Promise<boolean> {
    const owner = await this.#readOwner();
    if (this.#timer && owner?.podUid === this.#podUid) return false;
    this.#stopBeating();
    if (owner && owner.podUid !== this.#podUid) await this.#checkAge(owner.pod);
    await this.#root.emptyStaging();
    await this.#take();
    this.#timer = setInterval(() => void this.#beat().catch(() => {}), this.#times.beatMs).unref();
    return true;
  }

  /** Lets the next agent in at once. */
  async release(): Promise<void> {
    if (!this.#timer) return;
    this.#stopBeating();
    if ((await this.#readOwner())?.podUid === this.#podUid) await rm(this.#file, { force: true });
  }

  async #readOwner(): Promise<v.InferOutput<typeof ownerSchema> | undefined> {
    const text = await readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ownerSchema), text);
    return parsed.success ? parsed.output : undefined;
  }

  async #checkAge(pod: string): Promise<void> {
    const probe = `${this.#file}.${this.#podUid.replace(/[^\w-]/g, '')}.probe`;
    await rm(probe, { force: true });
    await (await open(probe, 'wx', 0o644)).close();
    const [now, then] = [await stat(probe), await stat(this.#file)];
    await rm(probe, { force: true });
    if (now.mtimeMs - then.mtimeMs > this.#times.staleMs) return;
    throw new WaitingError(
      `the data volume is in use by the agent of pod ${pod}: each gateway needs a volume, or a subPath, of its own`,
      { code: 'data.inUse', reason: 'VolumeInUse', retryAfterMs: this.#times.beatMs / 2 },
    );
  }

  async #take(): Promise<void> {
    const temporary = `${this.#file}.${this.#podUid.replace(/[^\w-]/g, '')}.tmp`;
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o644);
    try {
      await handle.writeFile(this.#text);
    } finally {
      await handle.close();
    }
    await rename(temporary, this.#file);
  }

  /** Writes the same text again, unless somebody took over. */
  async #beat(): Promise<void> {
    if ((await this.#readOwner())?.podUid !== this.#podUid) return;
    const handle = await open(this.#file, 'r+');
    try {
      await handle.write(this.#text, 0);
    } finally {
      await handle.close();
    }
  }

  #stopBeating(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
