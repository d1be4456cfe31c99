import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { volumeInUse } from '../../../shared/domain/kubernetes/volume-in-use.ts';
import { codeOf, TerminalError, WaitingError } from '../../../shared/errors.ts';
import { type Directory, isOpenAt } from '../../disk/directory.ts';
import type { Identity } from '../../plan/template-values.ts';
import type { DataRoot } from './data-root.ts';
import { flock } from './flock.ts';
import { type Owner, readOwner, removeOwner, writeOwner } from './owner-file.ts';
import { probeVolume } from './probe-volume.ts';
import { protectDirectory } from './protect-directory.ts';

/** Interval between attempts to take the lock (ms). */
const RETRY_MS = 5_000;
const NAME = 'agent.lock';

/**
 * Keeps a second agent out of a data volume: a kernel lock on `.sync-agent/agent.lock`, held while the agent runs. The
 * kernel frees it when the process exits, so a live owner never loses it. `owner.json` names the owner for messages.
 */
export class VolumeLock {
  /** Reason why the lock doesn't keep other agents out of this volume; undefined if it does. */
  weakness: string | undefined;
  readonly #root: DataRoot;
  readonly #identity: Identity;
  /** Descriptor of the locked file: the lock lasts until it is closed. */
  #held: number | undefined;

  constructor(root: DataRoot, identity: Identity) {
    this.#root = root;
    this.#identity = identity;
  }

  /** Takes the lock; returns false if it was held already. Throws {@link WaitingError} if another pod has it. */
  async hold(): Promise<boolean> {
    if (this.isHeld()) return false;
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
  isHeld(): boolean {
    if (this.#held === undefined) return false;
    try {
      if (!this.#root.state.isClaimed()) return false;
      using directory = this.#root.state.openExisting();
      readSync(this.#held, Buffer.alloc(1), 0, 1, 0);
      return isOpenAt(this.#held, directory.at(NAME)) && readOwner(directory)?.podUid === this.#identity.podUid;
    } catch {
      return false;
    }
  }

  /** Throws {@link WaitingError} if the lock is no longer held; the next {@link hold} takes it again. */
  check(): void {
    if (!this.isHeld()) throw inUse('the lock of the data volume was lost or replaced; taking it again', 'data.lost');
  }

  /** Frees the lock for the next agent immediately. */
  release(): void {
    if (this.isHeld()) {
      using directory = this.#root.openAgentDirectory('');
      try {
        removeOwner(directory);
      } catch {
        // The next agent replaces it.
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
      // {@link isHeld} reads a byte.
      if (fstatSync(descriptor).size === 0) writeSync(descriptor, '\n', 0);
      this.#root.traits = probeVolume(directory);
      writeOwner(directory, this.#owner);
      protectDirectory(directory);
      this.#held = descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  get #owner() {
    const { podUid, podName, namespace, node } = this.#identity;
    return { podUid, pod: `${namespace}/${podName}`, node };
  }

  #drop(): void {
    if (this.#held !== undefined) closeSync(this.#held);
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

const inUseBy = (owner: Owner | undefined): WaitingError => inUse(volumeInUse(owner), 'data.inUse');

const inUse = (message: string, code: 'data.inUse' | 'data.lost'): WaitingError =>
  new WaitingError(message, { code, reason: 'VolumeInUse', retryAfterMs: RETRY_MS });
