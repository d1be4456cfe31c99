import { withStoredNames } from '../../../../controller/releases/find-release.ts';
import { labelledIn } from '../../../../controller/releases/results.ts';
import { step } from '../../../../controller/rollout/machine.ts';
import type {
  GatewayReport,
  ReportedPreview,
  RolloutGateway,
  RolloutInput,
} from '../../../../controller/rollout/rollout-input.ts';
import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { RolloutSpec, RolloutStatus } from '../../../../shared/api/rollout.ts';
import { completedIn } from '../../../../shared/domain/rollout/stored-release.ts';
import { withoutUndefined } from '../../../../shared/domain/text/objects.ts';
import type { Shown } from './approvals.ts';
import { newestIn, store } from './stored-releases.ts';

/** Kubernetes stores times in whole seconds. */
export const TICK_MS = 1000;
export const DEADLINE_MS = 2 * TICK_MS;
export const SOAK_MS = 1000;
export const PREVIEW_MS = 2 * TICK_MS;
export const PREVIEW_INTERVAL_MS = 3 * TICK_MS;

/** Commits of the model; `S` is delivered at the beginning. */
export type Commit = 'S' | 'A' | 'B' | 'C';

/** The release that an agent has read from a status, and its rollout. */
export interface Aim {
  commit: Commit;
  /** Undefined for the stable commit, unless all roll back to it: reports about that name no rollout. */
  number: number | undefined;
}

export interface Agent {
  /** Undefined if there is no such pod. */
  createdAt: number | undefined;
  notReadySince: number | undefined;
  /** Its profile is paused. */
  isPaused: boolean;
  /** Read, but not delivered yet. */
  aim: Aim | undefined;
  holds: Commit | undefined;
  /** The commit that it holds has changed none of its files, as shown in advance. */
  isNoted: boolean;
  /** Stored in the API server. */
  report: GatewayReport | undefined;
  /** As seen by the controller. */
  seen: GatewayReport | undefined;
  /** Preview, stored in the API server and as seen by the controller. */
  preview: ReportedPreview | undefined;
  seenPreview: ReportedPreview | undefined;
  /** Its labels were changed, so that every commit changes its files. */
  isRelabeled: boolean;
}

export interface World {
  now: number;
  state: RolloutStatus | undefined;
  /** In the order of their creation. */
  releases: ObservedRelease[];
  /** Undefined if unknown. */
  wanted: Commit | undefined;
  /** The commit in the status that all gateways followed without `spec.rollout`; undefined after a loss of the status. */
  delivered: Commit | undefined;
  /** The current waves: 0 for those of the setup, or one of the others. */
  plan: number;
  isOpen: boolean;
  /** What a user has looked at, and can approve later. */
  looked: Shown | undefined;
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
  /** Specs that an edit can set. */
  others?: Plan[];
  /** Commits whose changes make gateways unhealthy. */
  bad: Commit[];
  /** With previews: the content of each commit, one letter per gateway; `x` can't be delivered. */
  contents?: Partial<Record<Commit, string>>;
}

/** The current waves. */
export const planIn = ({ plan }: Pick<World, 'plan'>, setup: Setup): Plan => setup.others?.[plan - 1] ?? setup;

export const hasPreviews = (world: Pick<World, 'plan'>, setup: Setup): boolean =>
  setup.contents !== undefined && planIn(world, setup).spec.previewTimeout !== '0s';

/** Equal for the same waves. */
export function planNameOf(world: Pick<World, 'plan'>, setup: Setup): string {
  const { waves } = planIn(world, setup).spec;
  return `p${[setup, ...(setup.others ?? [])].findIndex(({ spec }) => spec.waves === waves)}`;
}

export const keyOf = (index: number): string => `${'0123456789abcdef'[index]}0`;
/** Returns the index in a gateway's name. */
export const indexOf = (name: string): number => Number(name.slice(1));

export function makeWorld({ fits }: Setup): World {
  const agent = (): Agent => ({
    createdAt: 0,
    notReadySince: undefined,
    isPaused: false,
    aim: undefined,
    holds: 'S',
    isNoted: false,
    report: undefined,
    seen: undefined,
    preview: undefined,
    seenPreview: undefined,
    isRelabeled: false,
  });
  return {
    now: 1000,
    state: undefined,
    releases: [],
    wanted: 'S',
    delivered: undefined,
    rollback: undefined,
    retry: undefined,
    plan: 0,
    isOpen: true,
    looked: undefined,
    agents: fits.map(agent),
  };
}

export function gatewaysOf(world: World, setup: Setup): RolloutGateway[] {
  const { fits } = planIn(world, setup);
  return world.agents.flatMap(({ createdAt, notReadySince, isPaused, seen, seenPreview }, index) => {
    if (createdAt === undefined) return [];
    const pod = { name: `g${index}`, key: keyOf(index), fits: fits[index] ?? [], createdAt };
    return {
      ...pod,
      notReadySince,
      isPaused,
      report: seen,
      preview: seenPreview,
    };
  });
}

export function inputOf(world: World, setup: Setup): RolloutInput {
  const { spec } = planIn(world, setup);
  return {
    spec,
    wavesHash: planNameOf(world, setup),
    gateways: gatewaysOf(world, setup),
    newest: newestIn(world),
    delivered: world.delivered && { commit: world.delivered, ref: 'main', revision: 'r' },
    completed: completedIn(world.releases),
    lastComplete: labelledIn(world.releases, 'Complete')[0],
    rejected: labelledIn(world.releases, 'Rejected'),
    approved: world.releases,
    rollback: world.rollback,
    retry: world.retry,
    window: { isOpen: world.isOpen, message: world.isOpen ? '' : 'no window is open' },
    deadlineMs: DEADLINE_MS,
    previewMs: hasPreviews(world, setup) ? PREVIEW_MS : 0,
    previewIntervalMs: PREVIEW_INTERVAL_MS,
    soakMs: (spec.waves ?? []).map(({ soak }) => (soak ? SOAK_MS : 0)),
    now: world.now,
  };
}

/** Runs a reconcile. */
export const control = (world: World, setup: Setup): World => store(decide(world, setup));

/** Runs a reconcile, after which the results of the releases aren't written. The next one writes them first. */
export function decide(before: World, setup: Setup): World {
  const world = store(before);
  const state = step(world.state, inputOf(world, setup));
  return { ...world, state: state ? withoutUndefined(withStoredNames(state, world.releases)) : world.state };
}

/** Returns the content that a commit has for a gateway. */
export function contentOf(commit: Commit, index: number, { agents }: World, { contents }: Setup): string {
  if (!contents || agents[index]?.isRelabeled) return commit;
  return contents[commit]?.[index] ?? commit;
}

/** Whether a commit makes a gateway unhealthy. A gateway whose files it doesn't change stays healthy. */
export function isBadFor(commit: Commit, index: number, world: World, setup: Setup): boolean {
  const [content, before, ...bad] = [commit, 'S' as const, ...setup.bad].map((each) =>
    contentOf(each, index, world, setup),
  );
  return content !== before && bad.includes(content ?? '');
}
