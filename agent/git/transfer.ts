import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import { CLONE_VOLUME } from '../../shared/io/volume-error.ts';

/** What ends a transfer, in milliseconds and bytes. */
export interface TransferLimits {
  /** For the whole of it, where `spec.git.timeout` says nothing. */
  totalMs: number;
  /** Before the first byte of the pack: in all, and without a word. */
  preparingMs: number;
  silenceMs: number;
  /** So many bytes have to come in each such time: whoever sends fewer could go on for ever. */
  floor: { bytes: number; ms: number };
  /** Without a step, once all is there: git works through what came. */
  finishingMs: number;
  /** Between two looks. */
  lookMs: number;
  /** Of one pack: whoever sends without an end would fill the disk of the node. */
  packBytes: number;
}

/** Git takes what comes in pieces of 64 KB, so the floor is one of them each two minutes: half a KB/s. */
export const TRANSFER_LIMITS: TransferLimits = {
  totalMs: 3_600_000,
  preparingMs: 300_000,
  silenceMs: 60_000,
  floor: { bytes: 60_000, ms: 120_000 },
  finishingMs: 300_000,
  lookMs: 2_000,
  packBytes: 10e9,
};

/** Whoever can write so much, and make so many files, is not the one whose disk is full. A fetch makes less than ten. */
const ROOM = { bytes: 64 * 1024, files: 16 };

/** What a look at a transfer shows. */
export interface TransferView {
  /** Bytes of the pack so far. */
  bytes: number;
  /** The last line in which the host said how far it is, and the last one of git itself. */
  remoteStep: string;
  localStep: string;
}

/** Judges from one look to the next whether a transfer moves. What the host says counts only before it sends. */
export class TransferWatch {
  readonly #limits: TransferLimits;
  readonly #startedAt: number;
  #phase: 'preparing' | 'receiving' | 'finishing' = 'preparing';
  /** When the present stretch began, and what was seen then. */
  #since: number;
  #seen: TransferView = { bytes: 0, remoteStep: '', localStep: '' };

  constructor(limits: TransferLimits, now: number) {
    this.#limits = limits;
    this.#startedAt = now;
    this.#since = now;
  }

  /** Takes a look at `now` milliseconds, and says whether the transfer goes on. */
  look(view: TransferView, now: number): 'moving' | 'stalled' {
    const phase = phaseAfter(this.#phase, view, this.#seen);
    if (phase !== this.#phase) {
      this.#phase = phase;
      return this.#restart(view, now);
    }
    const { preparingMs, silenceMs, floor, finishingMs } = this.#limits;
    const elapsed = now - this.#since;
    if (phase === 'receiving') {
      if (elapsed < floor.ms) return 'moving';
      return view.bytes - this.#seen.bytes < floor.bytes ? 'stalled' : this.#restart(view, now);
    }
    if (phase === 'preparing') {
      if (now - this.#startedAt >= preparingMs) return 'stalled';
      if (view.remoteStep !== this.#seen.remoteStep) return this.#restart(view, now);
      return elapsed >= silenceMs ? 'stalled' : 'moving';
    }
    if (view.localStep !== this.#seen.localStep) return this.#restart(view, now);
    return elapsed >= finishingMs ? 'stalled' : 'moving';
  }

  #restart(view: TransferView, now: number): 'moving' {
    this.#since = now;
    this.#seen = view;
    return 'moving';
  }
}

/** The pack is gone from where it arrives, or git says that it has all of it or is at the next step: it has arrived. */
function phaseAfter(phase: 'preparing' | 'receiving' | 'finishing', view: TransferView, seen: TransferView) {
  if (phase === 'finishing' || view.bytes < seen.bytes) return 'finishing';
  if (view.localStep !== '' && !/^Receiving objects: +\d\d?%/.test(view.localStep)) return 'finishing';
  return view.bytes > 0 ? 'receiving' : phase;
}

export interface Transfer {
  gitDir: string;
  access: GitAccess;
  signal: AbortSignal | undefined;
  /** Lines for git's input. */
  input?: string;
  /** Time for all of it, in milliseconds. */
  timeoutMs?: number | undefined;
  limits?: TransferLimits | undefined;
}

/** Runs a fetch that reports its progress (`--progress`), for as long as it moves. */
export async function transfer(git: Git, args: string[], options: Transfer): Promise<void> {
  const { gitDir, access, signal, input, limits = TRANSFER_LIMITS, timeoutMs = limits.totalMs } = options;
  const stopping = new AbortController();
  const steps = { remoteStep: '', localStep: '' };
  const onProgress = (line: string) => {
    steps[line.startsWith('remote: ') ? 'remoteStep' : 'localStep'] = line;
  };
  const watch = new TransferWatch(limits, performance.now());
  const timer = setInterval(async () => {
    const view = { ...steps, bytes: await arrivedBytes(gitDir) };
    if (watch.look(view, performance.now()) === 'stalled') stopping.abort(stalled(view));
    if (view.bytes > limits.packBytes) stopping.abort(packTooLarge(limits.packBytes));
  }, limits.lookMs);
  try {
    await git.run([`--git-dir=${gitDir}`, ...args], {
      access,
      timeoutMs,
      onProgress,
      ...(input !== undefined && { input }),
      signal: AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]),
    });
  } catch (error) {
    const isFull = mayBeFull(error) && !(await hasRoom(gitDir));
    await removeArrived(gitDir);
    throw isFull ? noSpace(error) : explain(error, timeoutMs);
  } finally {
    clearInterval(timer);
  }
}

/** Git writes a pack to a temporary file as it comes. */
async function arrivingPacks(gitDir: string): Promise<string[]> {
  const folder = join(gitDir, 'objects/pack');
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.startsWith('tmp_pack_')).map((name) => join(folder, name));
}

/** Of a fetch that failed, and may not be tried again soon; what stays is removed before the next one. */
async function removeArrived(gitDir: string): Promise<void> {
  await Promise.all((await arrivingPacks(gitDir)).map((file) => rm(file, { force: true }).catch(() => {})));
}

async function arrivedBytes(gitDir: string): Promise<number> {
  const sizes = (await arrivingPacks(gitDir)).map((file) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const stalled = ({ bytes }: TransferView) =>
  new TransientError(
    bytes === 0
      ? 'the git host takes too long before it sends anything: it is tried again'
      : 'the git host sends nothing any more, or next to nothing: it is tried again',
    { code: 'git.stalled', reason: 'GitTimeout' },
  );

function explain(error: unknown, timeoutMs: number): unknown {
  if (error instanceof TransientError && error.code === 'git.timeout') return tooLong(timeoutMs);
  return isNoSpace(error) ? gitErrorOf('', { cause: error }) : error;
}

const isNoSpace = (error: unknown): error is TerminalError =>
  error instanceof TerminalError && error.code === 'git.noSpace';

/** Whether no room may be the reason: of git's words those of a host cannot always be told apart. */
const mayBeFull = (error: unknown): error is Error =>
  isNoSpace(error) || (error instanceof TransientError && ['git.unreachable', 'git.brokeOff'].includes(error.code));

const noSpace = (cause: Error) =>
  new TransientError(`${CLONE_VOLUME} is full`, { code: 'git.noSpace', reason: 'CloneUnusable', cause });

/** A host can say that there is none; what git wrote before it failed is there still. */
async function hasRoom(gitDir: string): Promise<boolean> {
  const file = join(gitDir, 'tmp_room');
  const more = Array.from({ length: ROOM.files - 1 }, (_, index) => `${file}_${index}`);
  try {
    await writeFile(file, Buffer.alloc(ROOM.bytes, 1), { flush: true });
    for (const empty of more) await writeFile(empty, '');
    return true;
  } catch {
    return false;
  } finally {
    for (const made of [file, ...more]) await rm(made, { force: true }).catch(() => {});
  }
}

const packTooLarge = (bytes: number) =>
  new TransientError(
    `the git host sent more than ${bytes / 1e6} MB at once: map less of the repository, leave submodules out, or keep large files in Git LFS`,
    { code: 'git.packTooLarge', reason: 'GitAnswerTooLarge' },
  );

const tooLong = (ms: number) =>
  new TransientError(
    `the fetch took longer than ${ms / 1000} s (spec.git.timeout) and was stopped: it is tried again`,
    {
      code: 'git.timeout',
      reason: 'GitTimeout',
    },
  );
