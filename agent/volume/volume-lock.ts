import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import * as v from 'valibot';
import { WaitingError } from '../../shared/errors.ts';
import { readText } from '../../shared/io/read-text.ts';
import type { Identity } from '../plan/template-values.ts';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { eachInTurn } from './for-each.ts';
import { clearLockFolder, draftOf, LOCK, nameOf, numberOf } from './lock-folder.ts';
import { probeVolume } from './probe-volume.ts';
import { protectFolder } from './protect-folder.ts';
import { putNew } from './put-new.ts';
import { LAST_GENERATION, removeEarlierStaging, Staging, stagingNumbers } from './staging.ts';

export interface LockTimes {
  /** Milliseconds between two signs of life. */
  beatMs: number;
  /** Milliseconds that a lock has to be seen standing still before its owner counts as gone. */
  staleMs: number;
}

const TIMES: LockTimes = { beatMs: 10_000, staleMs: 35_000 };
const MAX_TEXT_BYTES = 4096;

const ownerSchema = v.object({ podUid: v.string(), pod: v.string(), isReleased: v.optional(v.boolean(), false) });

/** The lock as it is on the volume: the file with the highest number. */
interface Latest {
  generation: number;
  text: string;
}

/** This agent's own lock. */
interface Held {
  generation: number;
  descriptor: number;
  timer: NodeJS.Timeout;
  isExpired: boolean;
}

/** A lock of somebody else that is being watched. */
interface Watched extends Latest {
  seenAt: number;
  stoodMs: number;
}

/**
 * Keeps a second agent away from a data volume. The lock is a row of files with rising numbers: who creates the next
 * one, exclusively, has it, and writes to it again and again as a sign of life. An agent of the same pod follows at
 * once, since the earlier one must have ended; that of another pod when it saw the lock standing still for long enough
 * on its own clock. An owner who was held up for longer notices, and cannot move a file: see {@link Staging}.
 */
export class VolumeLock {
  readonly #root: DataRoot;
  readonly #identity: Identity;
  readonly #times: LockTimes;
  #held: Held | undefined;
  #watched: Watched | undefined;
  #beats = 0;

  constructor(root: DataRoot, identity: Identity, times = TIMES) {
    this.#root = root;
    this.#identity = identity;
    this.#times = times;
  }

  /** Takes the lock, and gives whether it was not held before. Throws {@link WaitingError} where another pod has it. */
  async hold(): Promise<boolean> {
    const folder = this.#root.openAgentFolder(LOCK);
    try {
      const failure = await clearLockFolder(folder, this.#root).catch((error: unknown) => ({ error }));
      if (this.isHeld && !this.#held?.isExpired && this.#root.staging.isAlive) return false;
      // What cannot be moved stops nobody who has the lock.
      if (failure) throw failure.error;
      this.#drop();
      await this.#take(folder);
      return true;
    } finally {
      folder.close();
    }
  }

  /** Whether nobody has taken over. */
  get isHeld(): boolean {
    if (!this.#held) return false;
    const folder = this.#root.openAgentFolder(LOCK);
    try {
      return latestGeneration(folder) === this.#held.generation;
    } finally {
      folder.close();
    }
  }

  /** Throws {@link WaitingError} if somebody has taken over. */
  check(): void {
    if (this.isHeld) return;
    throw this.#inUse('another agent took over the data volume while this one was held up', 'data.lost');
  }

  /** The next {@link hold} takes it again, and brings what is in the staging folder to where it belongs: as after a kill. */
  expire(): void {
    if (this.#held) this.#held.isExpired = true;
  }

  /** Lets the next agent in at once. */
  async release(): Promise<void> {
    // Whatever is wrong with the volume by now, the agent ends; the next owner of the lock tidies up.
    if (this.#held) await this.#root.staging.remove().catch(() => {});
    this.#letGo();
  }

  async #take(folder: Folder): Promise<void> {
    this.#checkFree(readLatest(folder));
    const generation = this.#nextGeneration(folder);
    const descriptor = this.#create(folder, generation);
    const timer = setInterval(() => this.#beat(), this.#times.beatMs).unref();
    this.#held = { generation, descriptor, timer, isExpired: false };
    try {
      if (generation < LAST_GENERATION) folder.unlink(nameOf(LAST_GENERATION));
      // Before anything that may fail: each try would leave one more.
      await eachInTurn(generationsIn(folder), (number) => {
        if (number < generation) folder.unlink(nameOf(number));
      });
      await removeEarlierStaging(this.#root, generation);
      this.#root.staging = Staging.make(this.#root, generation, this.#identity.podUid);
      // Only now: an owner whose folder is made after a look at the lock would escape who takes over in between.
      this.check();
      this.#root.traits = probeVolume(folder);
      this.#protect();
    } catch (error) {
      this.#letGo();
      throw error;
    }
    this.#watched = undefined;
  }

  #protect(): void {
    const folder = this.#root.openAgentFolder('');
    try {
      protectFolder(folder);
    } finally {
      folder.close();
    }
  }

  /** Above the staging folders as well: where somebody took the locks away, an owner that is held up still has its folder. */
  #nextGeneration(folder: Folder): number {
    const numbers = [...generationsIn(folder), ...stagingNumbers(this.#root)];
    return highest(numbers.filter((number) => number < LAST_GENERATION)) + 1;
  }

  #checkFree(latest: Latest | undefined): void {
    if (!latest) return;
    const owner = parseOwner(latest.text);
    if (owner?.isReleased || owner?.podUid === this.#identity.podUid || this.#standsStill(latest)) return;
    const who = owner ? `the agent of pod ${owner.pod}` : 'another agent';
    const message = `the data volume is in use by ${who}: each gateway needs its own volume or subPath`;
    throw this.#inUse(message, 'data.inUse');
  }

  /** Watches the lock on this machine's own clock; a long time between two looks counts for two signs of life only. */
  #standsStill({ generation, text }: Latest): boolean {
    const seenAt = performance.now();
    const before = this.#watched;
    const isSame = before?.generation === generation && before.text === text;
    const passedMs = isSame ? Math.min(seenAt - before.seenAt, 2 * this.#times.beatMs) : 0;
    const stoodMs = isSame ? before.stoodMs + passedMs : 0;
    this.#watched = { generation, text, seenAt, stoodMs };
    return stoodMs >= this.#times.staleMs;
  }

  /** Only one agent creates a file of that number. It says whose it is from the first moment on, even if a kill comes next. */
  #create(folder: Folder, generation: number): number {
    const draft = draftOf(this.#identity.podUid);
    folder.unlink(draft);
    const descriptor = openSync(folder.at(draft), 'wx', 0o600);
    try {
      writeSync(descriptor, this.#text(), 0);
      putNew(folder.at(draft), folder.at(nameOf(generation)));
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      // Without its draft: another agent has just cleared the folder.
      if (!['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      throw this.#inUse('another agent has just taken the data volume', 'data.inUse');
    } finally {
      folder.unlink(draft);
    }
  }

  /** Writes into this agent's own file, wherever its name may be by now. */
  #beat(): void {
    if (!this.#held) return;
    this.#beats += 1;
    try {
      writeSync(this.#held.descriptor, this.#text(), 0);
    } catch {} // a full or broken volume: the next write of a sync says so
  }

  /** Into this agent's own file as well: who took over meanwhile has another one. */
  #letGo(): void {
    if (!this.#held) return;
    const { descriptor } = this.#held;
    try {
      ftruncateSync(descriptor, writeSync(descriptor, this.#text({ isReleased: true }), 0));
    } catch {} // others then wait until they saw it standing still
    this.#drop();
  }

  #text(more: { isReleased?: true } = {}): string {
    const { podUid, podName, namespace } = this.#identity;
    const beat = String(this.#beats).padStart(12, '0');
    return JSON.stringify({ podUid, pod: `${namespace}/${podName}`, beat, ...more });
  }

  #inUse(message: string, code: string): WaitingError {
    return new WaitingError(message, { code, reason: 'VolumeInUse', retryAfterMs: this.#times.beatMs / 2 });
  }

  #drop(): void {
    if (!this.#held) return;
    clearInterval(this.#held.timer);
    closeSync(this.#held.descriptor);
    this.#held = undefined;
    this.#root.staging = undefined;
  }
}

function generationsIn(folder: Folder): number[] {
  const numbers = folder.list().map(numberOf);
  return numbers.filter((number) => number > 0 && number <= LAST_GENERATION);
}

const latestGeneration = (folder: Folder): number | undefined => highest(generationsIn(folder)) || undefined;

/** 0 where there is none; of any number of numbers: a gateway can make so many names that a call could not take them all. */
const highest = (numbers: number[]): number => numbers.reduce((high, number) => Math.max(high, number), 0);

function readLatest(folder: Folder): Latest | undefined {
  const generation = latestGeneration(folder);
  if (generation === undefined) return undefined;
  // What says nothing may stand still.
  return { generation, text: readText(folder.at(nameOf(generation)), MAX_TEXT_BYTES) };
}

function parseOwner(text: string): v.InferOutput<typeof ownerSchema> | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ownerSchema), text);
  return parsed.success ? parsed.output : undefined;
}
