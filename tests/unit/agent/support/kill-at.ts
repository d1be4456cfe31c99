import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { codedError } from '../../../support/coded-error.ts';
import { byDepth, SEED } from '../../../support/depth.ts';
import { grantLocks } from './grant-locks.ts';
import type { Sandbox } from './sandbox.ts';
import { type VolumeCall, watchVolume } from './volume-calls.ts';

interface PlayOptions {
  /** Whether the volume has hard links. */
  hasLinks?: boolean;
  /** Steps count from the first call that concerns such a path; if omitted, from the first call. */
  from?: RegExp;
}

/** Events on a volume until the end of the run. */
export interface Play {
  /** The changes of the volume that were tried, in order, up to the one at which something happened. */
  calls: VolumeCall[];
  /** The call at which something happened. */
  met: VolumeCall | undefined;
  end(): void;
}

/** A step at which an agent is killed. */
export interface Kill {
  step: number;
  /** If the step is a write, half of it is written. Otherwise, it has no effect either way. */
  isTorn?: boolean;
}

const failure = (code: string, what: string) => codedError(code, `${code}: ${what}`);

interface KillOptions extends PlayOptions {
  /** Done right before the step, which then happens as well: the kill comes after it. */
  inBetween?: () => void;
  /** The error of all calls from then on: for an outage, in which the agent lives on. */
  code?: string;
}

/** Plays a kill at the given change of the volume: neither it nor any later one does anything. */
export function killAt(volume: string, { step, isTorn = false }: Kill, options: KillOptions = {}): Play {
  const killed = failure(options.code ?? 'EIO', 'killed');
  const onLater = () => {
    throw killed;
  };
  return play(volume, { ...options, step, onLater }, (call) => {
    if (options.inBetween) return options.inBetween();
    if (isTorn && call.isWrite) call.tear();
    throw killed;
  });
}

/** Runs something during which the agent is killed, and ignores how it ends. */
export async function runKilled(
  volume: string,
  kill: Kill,
  run: () => Promise<unknown>,
  options?: KillOptions,
): Promise<Play> {
  const played = killAt(volume, kill, options);
  await run()
    .catch((error) => assert.match(error.message, /EIO: killed/))
    .finally(played.end);
  return played;
}

interface FailOptions extends PlayOptions {
  /** Done right before that. */
  inBetween?: () => void;
}

/** Makes the given change of the volume fail, once. */
export function failAt(volume: string, step: number, code: string, options: FailOptions = {}): Play {
  return play(volume, { ...options, step }, () => {
    options.inBetween?.();
    throw failure(code, 'played');
  });
}

/** Does something right before the given change of the volume. */
export function actAt(volume: string, step: number, act: () => void, options?: PlayOptions): Play {
  return play(volume, { ...options, step }, act);
}

/** Only counts the changes of the volume. */
export function countCalls(volume: string, options?: PlayOptions): Play {
  return play(volume, { ...options, step: Number.POSITIVE_INFINITY }, () => {});
}

interface Plot extends PlayOptions {
  step: number;
  /** Called at each change after the one that is meant. */
  onLater?: () => void;
}

function play(
  volume: string,
  { step, hasLinks = true, from = /^/, onLater = () => {} }: Plot,
  onStep: (call: VolumeCall) => void,
): Play {
  const calls: VolumeCall[] = [];
  const played: Play = { calls, met: undefined, end: () => {} };
  played.end = watchVolume(volume, (call) => {
    if (played.met) onLater();
    else if (calls.length > 0 || call.paths.some((place) => from.test(place))) {
      calls.push(call);
      if (calls.length === step) {
        played.met = call;
        onStep(call);
      }
    }
    if (call.name === 'link' && !hasLinks) throw failure('EPERM', 'played');
  });
  return played;
}

/** Names the step for a message. */
export const describeKill = ({ step, isTorn }: Kill, { met }: Play): string =>
  `step ${step}: ${isTorn && met?.isWrite ? 'half of ' : ''}${met?.name} ${met?.paths.join(' ')}`;

/** The number of steps that a test has to reach, and may. */
export interface Steps {
  atLeast: number;
  atMost: number;
}

/** Not at full depth, only some steps are taken: others with each commit. */
export const STRIDE = byDepth(7, 1);
const FIRST_STEP = 1 + (SEED % STRIDE);

/** Runs something with a kill at each step in turn, and with half of each write, until a run ends before its kill. */
export async function everyKill(
  t: TestContext,
  steps: Steps,
  run: (kill: Kill) => Promise<Play>,
): Promise<VolumeCall[]> {
  return await everyStep(t, steps, async (step) => {
    const played = await run({ step });
    if (played.met?.isWrite) await run({ step, isTorn: true });
    return played;
  });
}

/**
 * Runs something for each step in turn until a run does not reach its step, without starting flock(1) for each of the
 * agents. Returns the calls of the run without a step; throws if they are too few, or none was a write.
 */
export async function everyStep(
  t: TestContext,
  steps: Steps,
  run: (step: number) => Promise<Play>,
): Promise<VolumeCall[]> {
  const endGrants = grantLocks();
  const reached = await reachAll(steps, run).finally(endGrants);
  t.diagnostic(`${reached.length} steps`);
  assert.ok(reached.length >= steps.atLeast, `only ${reached.length} steps: ${reached.map(({ name }) => name)}`);
  assert.ok(
    reached.some(({ isWrite }) => isWrite),
    'no step was a write',
  );
  return reached;
}

async function reachAll({ atMost }: Steps, run: (step: number) => Promise<Play>): Promise<VolumeCall[]> {
  for (let step = FIRST_STEP; ; step += STRIDE) {
    assert.ok(step <= atMost + STRIDE, `still not at the end after ${atMost} steps`);
    const { met, calls } = await run(step);
    if (!met) return calls;
  }
}

/** Starts the next agent after a kill. The killed one releases its handles in this process, and changes nothing. */
export async function startNext(sandbox: Pick<Sandbox, 'data' | 'release' | 'restart'>): Promise<void> {
  const played = killAt(sandbox.data, { step: 1 });
  await sandbox.release().finally(played.end);
  await sandbox.restart();
}

/** Everything that is anywhere on the volume, by content. */
export function contents({ data }: Pick<Sandbox, 'data'>): string[] {
  const entries = fs.readdirSync(data, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), 'utf8'));
}
