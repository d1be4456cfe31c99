import { setTimeout as sleep } from 'node:timers/promises';
import { breakages } from './breakage/all.ts';
import { admittedWaves, oneBadGateway } from './invariants/admitted-waves.ts';
import { healthyPrograms } from './invariants/healthy-programs.ts';
import { noSecrets } from './invariants/no-secrets.ts';
import { oneWriter } from './invariants/one-writer.ts';
import { type Invariant, takeSample } from './invariants/sample.ts';
import { storedDeliveries, takenDeliveries } from './invariants/stored-deliveries.ts';
import { trueClaims } from './invariants/true-claims.ts';
import { foreignFiles, wholeFiles } from './invariants/whole-files.ts';
import { planOf, type Step } from './plan.ts';
import { Random } from './random.ts';
import { settle } from './settle.ts';
import { doWork } from './work.ts';
import { startWorld } from './world/start-world.ts';
import type { World } from './world/world.ts';

export interface RunOptions {
  seed: number;
  /** Number of faults. */
  faults: number;
  /** Prints a line. */
  say: (line: string) => void;
  /** Called with the world before it is stopped, if something is wrong. */
  onFailure?: (world: World) => Promise<void>;
}

/** Result of a run. */
export interface RunResult {
  /** Peak memory of each program, in kB. */
  peaksKb: Record<string, number>;
  samples: number;
}

/** Number of faults after which everything must settle. */
const ROUND = 15;
const SAMPLE_MS = 400;

/** Applies the faults of a seed's plan while sampling the world. Throws an error with all violations. */
export async function runFaults({ seed, faults, say, onFailure }: RunOptions): Promise<RunResult> {
  const world = await startWorld(new Random(seed));
  const sampler = new Sampler(world);
  try {
    await settle(world);
    say('all gateways have the first commit');
    const steps = planOf(seed, faults);
    for (let from = 0; from < steps.length; from += ROUND) {
      sampler.start();
      await breakThings(world, { steps: steps.slice(from, from + ROUND), say, sampler });
      const started = Date.now();
      await settle(world);
      await sampler.stop();
      await checkHistory(world);
      const answers = Object.entries(world.senders.answers).map(([answer, count]) => `${count} ${answer}`);
      say(
        `all settled after ${((Date.now() - started) / 1000).toFixed(1)} s; deliveries so far: ${answers.join(', ')}`,
      );
    }
    const peaksKb = Object.fromEntries(world.programs().map(({ name, peakKb }) => [name, peakKb]));
    return { peaksKb, samples: sampler.samples };
  } catch (error) {
    await onFailure?.(world);
    throw error;
  } finally {
    await sampler.stop().catch(() => {});
    await world.stop();
  }
}

interface Round {
  steps: Step[];
  say: (line: string) => void;
  sampler: Sampler;
}

/** Applies faults, which overlap; the work on one resource runs in order, regardless of delays by faults. */
async function breakThings(world: World, { steps, say, sampler }: Round): Promise<void> {
  const lanes = new Map<number, Promise<void>>();
  const healing: Promise<void>[] = [];
  for (const { number, gapMs, work, fault } of steps) {
    await sleep(gapMs);
    sampler.check();
    for (const piece of work) {
      const lane = piece.target % world.resources.length;
      lanes.set(lane, later((lanes.get(lane) ?? Promise.resolve()).then(() => doWork(world, piece))));
    }
    const { did, heal } = await breakages[fault.kind](world, fault);
    const duration = heal ? ` for ${(fault.holdMs / 1000).toFixed(1)} s` : '';
    const changes = work.length > 0 ? `; in the meantime: ${work.map(({ kind }) => kind).join(', ')}` : '';
    say(`${number}. ${did}${duration}${changes}`);
    healing.push(later(sleep(heal ? fault.holdMs : 0).then(async () => void (await heal?.()))));
  }
  await Promise.all([...healing, ...lanes.values()]);
  // A program that was killed twice was started once.
  for (const program of world.programs()) program.start();
}

/** Marks work that is awaited later: if it failed before, Node would end the run without the logs. */
function later(work: Promise<void>): Promise<void> {
  work.catch(() => {});
  return work;
}

/** Checks everything that only the logs show. */
async function checkHistory(world: World): Promise<void> {
  throwIf([
    ...(await oneWriter(world.plane.auditLog)),
    ...(await noSecrets(world)),
    ...healthyPrograms(world),
    ...takenDeliveries(world),
    ...(await storedDeliveries(world)),
  ]);
}

function throwIf(wrong: string[]): void {
  if (wrong.length > 0) throw new Error([...new Set(wrong)].slice(0, 20).join('\n'));
}

/** Samples the world repeatedly. */
class Sampler {
  readonly #world: World;
  readonly #invariants: Invariant[] = [
    wholeFiles,
    foreignFiles,
    trueClaims,
    admittedWaves(),
    oneBadGateway,
    healthyPrograms,
    takenDeliveries,
  ];
  #running: Promise<void> | undefined;
  #isOn = false;
  #wrong: string[] = [];
  samples = 0;

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    this.#isOn = true;
    this.#running ??= later(
      this.#run().finally(() => {
        this.#running = undefined;
      }),
    );
  }

  /** Throws an error with the violations in samples so far. */
  check(): void {
    throwIf(this.#wrong);
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
    this.check();
  }

  async #run(): Promise<void> {
    while (this.#isOn) {
      const sample = await takeSample(this.#world);
      for (const invariant of this.#invariants) this.#wrong.push(...(await invariant(this.#world, sample)));
      this.samples += 1;
      if (this.#wrong.length > 0) return;
      await sleep(SAMPLE_MS);
    }
  }
}
