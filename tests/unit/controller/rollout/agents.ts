import { isDeepStrictEqual } from 'node:util';
import { isReleasedIn } from '../../../../controller/rollout/admission.ts';
import type { GatewayReport, ReportedPreview } from '../../../../controller/rollout/rollout-input.ts';
import {
  type Agent,
  type Aim,
  type Commit,
  contentOf,
  isBadFor,
  keyOf,
  planIn,
  planNameOf,
  type Setup,
  type World,
} from './model.ts';

export const withAgent = (world: World, index: number, change: Partial<Agent>): World => ({
  ...world,
  agents: world.agents.map((agent, at) => (at === index ? { ...agent, ...change } : agent)),
});

/** A deleted pod. Its volume can remain. */
export const GONE: Partial<Agent> = {
  createdAt: undefined,
  notReadySince: undefined,
  aim: undefined,
  report: undefined,
  seen: undefined,
  preview: undefined,
  seenPreview: undefined,
};

/**
 * The release that the status assigns to a gateway; undefined if the waves have changed since it was written, or if the
 * gateway keeps its files, because the stable release is unknown.
 */
function aimOf(world: World, index: number, setup: Setup): Aim | undefined {
  const rollout = world.state;
  if (!rollout || rollout.plan !== planNameOf(world, setup)) return undefined;
  const isIn = isReleasedIn({ fits: planIn(world, setup).fits[index] ?? [], key: keyOf(index) }, rollout.admission);
  const commit = (isIn ? rollout.commit : rollout.stableCommit) as Commit | undefined;
  if (commit === undefined) return undefined;
  return { commit, number: isIn || rollout.phase.startsWith('Roll') ? rollout.number : undefined };
}

/** An agent reads the status. */
export function read(world: World, index: number, setup: Setup): World {
  const aim = aimOf(world, index, setup);
  if (!aim) return world;
  const { aim: before, holds, report } = world.agents[index] as Agent;
  const has = holds === aim.commit && report?.commit === aim.commit;
  // For the controller, a report about an older rollout is like one about none.
  const isCurrent = report?.rollout === aim.number;
  const isOlder = aim.number === undefined && report?.rollout !== world.state?.number;
  const isHealthy = has && report.state === 'healthy';
  const isDone = isCurrent ? report?.state === 'failed' || isHealthy : isOlder && isHealthy;
  return isDone && !before ? world : withAgent(world, index, { aim: isDone ? undefined : aim });
}

/** An agent previews the release that the status names, and removes a preview of another one. */
export function preview(world: World, index: number, setup: Setup): World {
  const { preview: next } = world.state ?? {};
  const { holds, preview: current, report = firstReport(holds) } = world.agents[index] as Agent;
  if (!setup.contents) return world;
  // If it is admitted to the release, it delivers it even if no other gateway previews it any longer.
  if (!next && current && current.commit === aimOf(world, index, setup)?.commit) return world;
  const isNeeded = next !== undefined && next.commit !== holds;
  const made = isNeeded ? previewOf(next.commit as Commit, index, world, setup) : undefined;
  return isDeepStrictEqual(current, made) ? world : withAgent(world, index, { preview: made, report });
}

/** Compares a commit with the one in the volume, or with the stable one if there is none. */
function previewOf(commit: Commit, index: number, world: World, setup: Setup): ReportedPreview {
  const stable = world.state?.stableCommit as Commit | undefined;
  const { holds = stable } = world.agents[index] as Agent;
  const [content, before, other] = [commit, holds, stable].map((each) => each && contentOf(each, index, world, setup));
  const changesNothing = content === before;
  const failure = content === 'x' && other !== 'x' ? 'broken' : undefined;
  return { commit, revision: 'r', digest: content ?? '', changesNothing, files: changesNothing ? 0 : 1, failure };
}

/** An agent delivers the release that it has read, and reports the result. */
export function apply(world: World, index: number, setup: Setup): World {
  const { aim, isPaused, holds, preview: previewed, isNoted } = world.agents[index] as Agent;
  if (!aim || isPaused) return world;
  const { commit, number: rollout } = aim;
  const content = contentOf(commit, index, world, setup);
  if (content === 'x') {
    const state = rollout === undefined ? 'busy' : 'failed';
    return withAgent(world, index, { aim: undefined, report: { rollout, ...named(holds), state } });
  }
  const isSame = holds !== undefined && content === contentOf(holds, index, world, setup);
  // Only a comparison with the stable release proves that nothing has to be verified.
  const isKnown =
    holds === commit ? isNoted : isStable(holds, world) && previewed?.commit === commit && previewed.changesNothing;
  return withAgent(world, index, {
    aim: undefined,
    holds: commit,
    isNoted: isSame && isKnown,
    report: { rollout, ...named(commit), state: isBadFor(commit, index, world, setup) ? 'failed' : 'healthy' },
    // A comparison with another release is obsolete.
    preview: holds === commit ? previewed : undefined,
  });
}

const isStable = (commit: Commit | undefined, { state }: World) =>
  state?.stableCommit !== undefined && [undefined, state.stableCommit].includes(commit);
const named = (commit: Commit | undefined) => ({ commit, revision: commit && 'r' });

/** Delivers the report to the controller's watch. */
export function deliver(world: World, index: number): World {
  const { report, seen, seenPreview } = world.agents[index] as Agent;
  const shown = shownPreview(world.agents[index] as Agent);
  return seen === report && seenPreview === shown
    ? world
    : withAgent(world, index, { seen: report, seenPreview: shown });
}

/** The controller sees a release that changed no file like a preview of it. */
export function shownPreview({ preview: previewed, holds, isNoted, report }: Agent): ReportedPreview | undefined {
  return previewed ?? (isNoted && report ? NOTED[holds as Commit] : undefined);
}

const noted = (commit: Commit): ReportedPreview => ({
  commit,
  revision: 'r',
  digest: '',
  changesNothing: true,
  files: 0,
});
const NOTED = { S: noted('S'), A: noted('A'), B: noted('B'), C: noted('C') };

/** An agent reads the status, delivers the release, and reports it. */
export const sync = (world: World, index: number, setup: Setup): World =>
  deliver(apply(read(world, index, setup), index, setup), index);

/** An agent has restarted: its first report is about no rollout, and without the preview. */
export const restarted = (holds: Commit | undefined): Partial<Agent> => ({
  aim: undefined,
  preview: undefined,
  report: firstReport(holds),
});

const firstReport = (holds: Commit | undefined): GatewayReport => ({
  rollout: undefined,
  ...named(holds),
  state: 'busy',
});
