import { Random } from './random.ts';

/** Kinds of faults, each with its weight and its maximum duration in milliseconds. */
const FAULTS = {
  kill: { weight: 14, holdMs: 1_500 },
  terminate: { weight: 4, holdMs: 1_500 },
  stop: { weight: 10, holdMs: 5_000 },
  'stop for long': { weight: 1, holdMs: 20_000 },
  'kill the leader': { weight: 3, holdMs: 1_000 },
  'stop the leader': { weight: 2, holdMs: 20_000 },
  'replace a pod': { weight: 4, holdMs: 3_000 },
  'restart the API server': { weight: 1, holdMs: 1_000 },
  'stop etcd': { weight: 3, holdMs: 3_000 },
  'cut connections': { weight: 4, holdMs: 0 },
  'freeze connections': { weight: 4, holdMs: 5_000 },
  'slow API server': { weight: 4, holdMs: 4_000 },
  'refusing API server': { weight: 4, holdMs: 4_000 },
  'unreachable API server': { weight: 4, holdMs: 5_000 },
  'lost answers': { weight: 5, holdMs: 4_000 },
  'git is down': { weight: 3, holdMs: 2_500 },
  'git does not answer': { weight: 2, holdMs: 2_500 },
  'git is slow': { weight: 3, holdMs: 3_000 },
  'git cuts answers short': { weight: 4, holdMs: 3_000 },
  'change a file': { weight: 5, holdMs: 0 },
  'delete a file': { weight: 4, holdMs: 0 },
  'add a foreign file': { weight: 3, holdMs: 0 },
  'fill the disk': { weight: 3, holdMs: 3_000 },
  'wipe a status': { weight: 3, holdMs: 0 },
  'delete the lease': { weight: 2, holdMs: 0 },
  'delete RoleBindings': { weight: 2, holdMs: 0 },
  'delete a report': { weight: 2, holdMs: 1_500 },
} as const;

/** Actions of users, git servers, and tools at the same time, each with its weight. */
const WORK = {
  push: 10,
  'force-push': 2,
  'push what breaks gateways': 2,
  'push what changes nothing': 2,
  'push what is invalid': 2,
  release: 6,
  'request by hand': 2,
  'edit the ref': 2,
  'edit the mappings': 4,
  pause: 1,
  resume: 2,
  'approve or retry': 3,
  'rotate the webhook secret': 1,
  'rotate the git token': 1,
} as const;

export type FaultKind = keyof typeof FAULTS;
export type WorkKind = keyof typeof WORK;

/** Random numbers that select targets; each fault uses them modulo the number of possible targets. */
interface Chance {
  /** Selects a program, gateway, or server. */
  target: number;
  /** Selects details, for example a file or a status. */
  choice: number;
}

export interface PlannedFault extends Chance {
  kind: FaultKind;
  holdMs: number;
}

export interface PlannedWork extends Chance {
  kind: WorkKind;
}

/** Some work, then a fault, which may overlap with others. */
export interface Step {
  /** From 1. */
  number: number;
  /** Milliseconds after the previous step. */
  gapMs: number;
  work: PlannedWork[];
  fault: PlannedFault;
}

/** Makes the plan of a seed, which is always the same. */
export function planOf(seed: number, count: number): Step[] {
  const random = new Random(seed);
  const weights = Object.fromEntries(Object.entries(FAULTS).map(([kind, { weight }]) => [kind, weight]));
  const chance = () => ({ target: random.below(1 << 16), choice: random.below(1 << 16) });
  return Array.from({ length: count }, (_, index) => {
    const gapMs = random.between(0, 1_200);
    const work = Array.from({ length: random.below(3) }, () => ({ kind: random.weighted(WORK), ...chance() }));
    const kind = random.weighted(weights as Record<FaultKind, number>);
    const most = FAULTS[kind].holdMs;
    return {
      number: index + 1,
      gapMs,
      work,
      fault: { kind, holdMs: random.between(Math.min(most, 50), most), ...chance() },
    };
  });
}

/** Some faults with new programs. Its seed determines the plan, so a failed piece can be replayed alone. */
export interface Piece {
  seed: number;
  faults: number;
}

/** Maximum number of faults in a piece. */
const MAX_FAULTS = 100;

/** Divides the faults of a run into pieces, with the seed of the run and the seeds after it. */
export function piecesOf({ seed, faults }: Piece): Piece[] {
  const pieces: Piece[] = [];
  for (let done = 0; done < faults; done += MAX_FAULTS) {
    pieces.push({ seed: seed + done / MAX_FAULTS, faults: Math.min(faults - done, MAX_FAULTS) });
  }
  return pieces;
}
