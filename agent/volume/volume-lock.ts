import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { volumeInUse } from '../../shared/domain/kubernetes/volume-in-use.ts';
import { codeOf, TerminalError, WaitingError } from '../../shared/errors.ts';
import type { Identity } from '../plan/template-values.ts';
import type { DataRoot } from './data-root.ts';
import { type Directory, isOpenAt } from './directory.ts';
import { flock } from './flock.ts';
import { kernelId, OwnerFile, readOwner, type SeenOwner } from './owner-file.ts';
import { probeVolume } from './probe-volume.ts';
import { protectDirectory } from './protect-directory.ts';

export interface LockTimes {
  /** Interval between an owner's heartbeats (ms). */
  touchMs: number;
  /** Time after its last heartbeat for which an owner is considered alive if the lock itself isn't conclusive (ms). */
  aliveMs: number;
}

const TIMES: LockTimes = { touchMs: 60_000, aliveMs: 90_000 };
/** Interval between attempts to take the lock (ms). */
const RETRY_MS = 5_000;
const NAME = 'agent.lock';

interface Held {
  /** Descriptor of the locked file: the lock lasts until it is closed. */
  descriptor: number;
  ownerFile: OwnerFile;
}

/**
 * Keeps a second agent out of a data volume: a kernel lock on `.sync-agent/agent.lock`, held while the agent runs. The
 * kernel frees it when the process exits, so a live owner never loses it. `owner.json` names the owner, and decides if
 * the file system's locks are unreliable: some work within one node only.
 */
export class VolumeLock {
  /** Reason why the lock doesn't keep other agents out of this volume; undefined if it does. */
  weakness: string | undefined;
  readonly #root: DataRoot;
  readonly #identity: Identity;
  readonly #times: LockTimes;
  readonly #kernel = kernelId();
  #held: Held | undefined;
  /** Another owner, and the monotonic time of its last new heartbeat (ms). */
  #watched: { seen: SeenOwner; seenAtMs: number } | undefined;

  constructor(root: DataRoot, identity: Identity, times = TIMES) {
    this.#root = root;
    this.#identity = identity;
    this.#times = times;
  }

  /** Takes the lock; returns false if it was held already. Throws {@link WaitingError} if another pod has it. */
  async hold(): Promise<boolean> {
    if (this.isHeld) return false;
    this.#drop();
    this.#root.state.claim();
    using directory = this.#root.openAgentDirectory('');
    await this.#take(directory);
    return true;
  }

  /**
   * Checks whether this agent still has the lock. The gateway can replace the files, because it has the same user;
   * NFSv4 drops the lock of a client after a long disconnection, and then refuses reads.
   */
  get isHeld(): boolean {
    if (!this.#held) return false;
    try {
      if (!this.#root.state.isClaimed) return false;
      using directory = this.#root.openAgentDirectory('');
      readSync(this.#held.descriptor, Buffer.alloc(1), 0, 1, 0);
      return (
        isOpenAt(this.#held.descriptor, directory.at(NAME)) &&
        readOwner(directory)?.owner.podUid === this.#identity.podUid
      );
    } catch {
      return false;
    }
  }

  /** Throws {@link WaitingError} if the lock is no longer held; the next {@link hold} takes it again. */
  check(): void {
    if (!this.isHeld) throw inUse('the lock of the data volume was lost or replaced; taking it again', 'data.lost');
  }

  /** Frees the lock for the next agent immediately. */
  release(): void {
    if (this.isHeld) {
      using directory = this.#root.openAgentDirectory('');
      try {
        OwnerFile.remove(directory);
      } catch {
        // The next agent waits until this one's heartbeats have stopped for long enough.
      }
    }
    this.#drop();
  }

  async #take(directory: Directory): Promise<void> {
    const descriptor = openLock(directory);
    try {
      const result = await flock(descriptor);
      this.weakness = result.kind === 'unsupported' ? result.reason : undefined;
      if (result.kind === 'held') throw inUseBy(readOwner(directory));
      // The directory could have been moved before the lock was taken.
      using current = this.#root.openAgentDirectory('');
      if (!isOpenAt(descriptor, current.at(NAME)))
        throw inUse('another agent has just replaced the lock', 'data.inUse');
      this.#checkOwner(descriptor, directory);
      this.#root.traits = probeVolume(directory);
      const ownerFile = OwnerFile.write(directory, this.#owner(descriptor), this.#times.touchMs);
      this.#held = { descriptor, ownerFile };
      this.#watched = undefined;
      protectDirectory(directory);
    } catch (error) {
      if (this.#held) this.#drop();
      else closeSync(descriptor);
      throw error;
    }
  }

  /** Throws if another owner may be alive although its lock is free. */
  #checkOwner(descriptor: number, directory: Directory): void {
    const seen = readOwner(directory);
    // Updates the time of the lock file by the volume's clock, and creates the byte that {@link isHeld} reads.
    const byte = Buffer.from('\n');
    readSync(descriptor, byte, 0, 1, 0);
    writeSync(descriptor, byte, 0, 1, 0);
    if (!seen || seen.owner.podUid === this.#identity.podUid) return;
    // The lock file and kernel are the same, so the lock of a live owner would have been in the way.
    if (!this.weakness && seen.owner.lock !== undefined && seen.owner.lock === this.#lockId(descriptor)) return;
    const ageMs = fstatSync(descriptor).mtimeMs - seen.touchedMs;
    if (ageMs < this.#times.aliveMs && this.#stillFor(seen) < this.#times.aliveMs) throw inUseBy(seen);
  }

  /** Returns the time since the owner's last heartbeat by this machine's clock, because clocks can differ (ms). */
  #stillFor(seen: SeenOwner): number {
    const now = performance.now();
    if (!this.#watched || !isDeepStrictEqual(seen, this.#watched.seen)) this.#watched = { seen, seenAtMs: now };
    return now - this.#watched.seenAtMs;
  }

  #owner(descriptor: number) {
    const { podUid, podName, namespace, node } = this.#identity;
    return { podUid, pod: `${namespace}/${podName}`, node, lock: this.#lockId(descriptor) };
  }

  /** Identifies the locked file and the kernel that keeps its locks. */
  #lockId(descriptor: number): string | undefined {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return this.#kernel && `${this.#kernel} ${dev} ${ino}`;
  }

  #drop(): void {
    this.#held?.ownerFile.close();
    if (this.#held) closeSync(this.#held.descriptor);
    this.#held = undefined;
  }
}

/** Opens the file to lock, and creates it if necessary. NFS requires write access. */
function openLock(directory: Directory): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const descriptor = openSync(directory.at(NAME), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    if (!['EISDIR', 'ELOOP', 'EMLINK', 'ENXIO'].includes(codeOf(error))) throw error;
  }
  throw new TerminalError(`${directory.pathOf(NAME)} must be a regular file because the agent locks it: remove it`, {
    code: 'data.lockFile',
    reason: 'PathConflict',
  });
}

const inUseBy = (seen: SeenOwner | undefined): WaitingError => inUse(volumeInUse(seen?.owner), 'data.inUse');

const inUse = (message: string, code: 'data.inUse' | 'data.lost'): WaitingError =>
  new WaitingError(message, { code, reason: 'VolumeInUse', retryAfterMs: RETRY_MS });
