import { isDeepStrictEqual } from 'node:util';
import { isAdmitted } from '../../../../controller/rollout/admission.ts';
import type {
  GatewayReport,
  PlannedChange,
  RolloutGateway,
  RolloutInput,
  RolloutState,
} from '../../../../controller/rollout/rollout-input.ts';
import { step } from '../../../../controller/rollout/step.ts';
import type { RolloutSpec, RolloutStatus } from '../../../../shared/api/rollout.ts';
import type { Release } from '../../../../shared/domain/releases.ts';

/** Kubernetes stores times in whole seconds. */
export const TICK_MS = 1000;
export const DEADLINE_MS = 2 * TICK_MS;
export const SOAK_MS = 1000;
export const PREVIEW_MS = 2 * TICK_MS;
export const PREVIEW_INTERVAL_MS = 3 * TICK_MS;
/** Number of entries in the history. */
export const HISTORY = 3;

/** Commits of the model; `S` is delivered at the beginning. */
export type Commit = 'S' | 'A' | 'B' | 'C';

/** The release that an agent has read from a status, and its rollout. */
interface Aim {
  commit: Commit;
  /** Undefined for the stable commit, unless all roll back to it: reports about that name no rollout. */
  number: number | undefined;
}

export interface Agent {
  /** Undefined if there is no such pod. */
  createdAt: number | undefined;
  notReadySince: number | undefined;
  /** Its profile is paused. */
  isResting: boolean;
  /** Read, but not delivered yet. */
  aim: Aim | undefined;
  holds: Commit | undefined;
  /** Stored in the API server. */
  report: GatewayReport | undefined;
  /** As seen by the controller. */
  seen: GatewayReport | undefined;
  /** Preview, stored in the API server and as seen by the controller. */
  plan: PlannedChange | undefined;
  seenPlan: PlannedChange | undefined;
  /** Its labels were changed, so that every commit changes its files. */
  isRelabeled: boolean;
}

export interface World {
  now: number;
  state: RolloutState | undefined;
  /** Undefined if unknown. */
  wanted: Commit | undefined;
  /** The current waves: 0 for those of the setup, or one of the others. */
  plan: number;
  isOpen: boolean;
  approved: Commit | undefined;
  rollback: string | undefined;
  retry: string | undefined;
  agents: Agent[];
}

export interface Plan {
  spec: RolloutSpec;
  /** Waves that each gateway fits. */
  fits: boolean[][];
}

export interface Setup extends Plan {
  /** Waves that an edit can set. */
  others?: Plan[];
  /** Commits with which no gateway is healthy. */
  bad: Commit[];
  /** With previews: the content of each commit, one letter per gateway; `x` can't be delivered. */
  contents?: Partial<Record<Commit, string>>;
  /** Gateways whose agents don't know previews. */
  old?: number[];
}

/** The current waves. */
export const planIn = ({ plan }: Pick<World, 'plan'>, setup: Setup): Plan => setup.others?.[plan - 1] ?? setup;

const keyOf = (index: number): string => `${'0123456789abcdef'[index]}0`;
const releaseOf = (commit: Commit): Release => ({ commit, ref: 'main', revision: 'r' });

export function makeWorld({ fits }: Setup): World {
  const agent = (): Agent => ({
    createdAt: 0,
    notReadySince: undefined,
    isResting: false,
    aim: undefined,
    holds: 'S',
    report: undefined,
    seen: undefined,
    plan: undefined,
    seenPlan: undefined,
    isRelabeled: false,
  });
  return {
    now: 1000,
    state: undefined,
    wanted: 'S',
    rollback: undefined,
    retry: undefined,
    plan: 0,
    isOpen: true,
    approved: undefined,
    agents: fits.map(agent),
  };
}

export function gatewaysOf(world: World, setup: Setup): RolloutGateway[] {
  const { fits } = planIn(world, setup);
  return world.agents.flatMap(({ createdAt, notReadySince, isResting, seen, seenPlan }, index) => {
    if (createdAt === undefined) return [];
    const pod = { name: `g${index}`, key: keyOf(index), fits: fits[index] ?? [], createdAt };
    return {
      ...pod,
      notReadySince,
      isResting,
      isOutdated: false,
      report: seen,
      previews: seen !== undefined && knowsPreviews(index, setup),
      plan: seenPlan,
    };
  });
}

export function inputOf(world: World, setup: Setup): RolloutInput {
  const { spec } = planIn(world, setup);
  return {
    spec,
    plan: `p${world.plan}`,
    gateways: gatewaysOf(world, setup),
    wanted: world.wanted && releaseOf(world.wanted),
    inPlace: undefined,
    approved: world.approved,
    rollback: world.rollback,
    retry: world.retry,
    window: { isOpen: world.isOpen, message: world.isOpen ? '' : 'no window is open' },
    historyLength: HISTORY,
    deadlineMs: DEADLINE_MS,
    previewMs: setup.contents ? PREVIEW_MS : 0,
    previewIntervalMs: PREVIEW_INTERVAL_MS,
    soakMs: (spec.waves ?? []).map(({ soak }) => (soak ? SOAK_MS : 0)),
    now: world.now,
  };
}

/** Runs a reconcile. */
export function control(world: World, setup: Setup): World {
  const next = step(world.state, inputOf(world, setup));
  if (!next) return world;
  const { rollout, history } = next;
  return { ...world, state: { rollout, history } };
}

/** The release that the status assigns to a gateway. */
function aimOf(rollout: RolloutStatus, index: number, { fits }: Plan): Aim {
  const gateway = { fits: fits[index] ?? [], key: keyOf(index) };
  const isIn = isAdmitted(gateway, rollout.admission);
  const commit = (isIn ? rollout.commit : rollout.stableCommit) as Commit;
  return { commit, number: isIn || rollout.phase.startsWith('Roll') ? rollout.number : undefined };
}

export const withAgent = (world: World, index: number, change: Partial<Agent>): World => ({
  ...world,
  agents: world.agents.map((agent, at) => (at === index ? { ...agent, ...change } : agent)),
});

/** An agent reads the status. */
export function read(world: World, index: number, setup: Setup): World {
  const rollout = world.state?.rollout;
  // It knows that the waves have changed since it read the status.
  if (!rollout || rollout.plan !== `p${world.plan}`) return world;
  const aim = aimOf(rollout, index, planIn(world, setup));
  const { aim: before, holds, report } = world.agents[index] as Agent;
  const isDone = report && holds === aim.commit && report.commit === aim.commit && report.rollout === aim.number;
  return isDone && !before ? world : withAgent(world, index, { aim: isDone ? undefined : aim });
}

const knowsPreviews = (index: number, { contents, old = [] }: Setup): boolean =>
  contents !== undefined && !old.includes(index);

/** Returns the content that a commit has for a gateway. */
export function contentOf(commit: Commit, index: number, { agents }: World, { contents }: Setup): string {
  if (!contents || agents[index]?.isRelabeled) return commit;
  return contents[commit]?.[index] ?? commit;
}

/** An agent previews the release that the status names, and reports it. */
export function preview(world: World, index: number, setup: Setup): World {
  const { preview: next, stableCommit } = world.state?.rollout ?? {};
  const { holds = stableCommit as Commit, plan, isResting } = world.agents[index] as Agent;
  if (!knowsPreviews(index, setup) || isResting) return world;
  if (!next) return plan && plan.commit !== holds ? withAgent(world, index, { plan: undefined }) : world;
  if (next.commit === holds) return world;
  const content = contentOf(next.commit as Commit, index, world, setup);
  const isUnchanged = content === contentOf(holds, index, world, setup);
  const failure = content === 'x' ? 'broken' : undefined;
  const { commit, revision } = next;
  const made = { commit, revision, digest: content, isUnchanged, files: isUnchanged ? 0 : 1, failure };
  return isDeepStrictEqual(plan, made) ? world : withAgent(world, index, { plan: made });
}

/** An agent delivers the release that it has read, and reports the result. */
export function apply(world: World, index: number, setup: Setup): World {
  const { aim, isResting, holds, plan: before } = world.agents[index] as Agent;
  if (!aim || isResting) return world;
  const { commit, number } = aim;
  const isBad = setup.bad.includes(commit) || contentOf(commit, index, world, setup) === 'x';
  const state = isBad ? 'failed' : 'healthy';
  const report: GatewayReport = { rollout: number, commit, revision: 'r', state };
  // With another base, the preview is made again, but a report still shows that it changed nothing.
  const isKept = commit === holds || (before?.commit === commit && before.isUnchanged);
  return withAgent(world, index, { aim: undefined, holds: commit, report, plan: isKept ? before : undefined });
}

/** Delivers the report to the controller's watch. */
export function deliver(world: World, index: number): World {
  const { report, seen, plan, seenPlan } = world.agents[index] as Agent;
  return seen === report && seenPlan === plan ? world : withAgent(world, index, { seen: report, seenPlan: plan });
}
