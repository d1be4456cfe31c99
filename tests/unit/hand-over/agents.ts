import { isDeepStrictEqual } from 'node:util';
import type { Plan } from '../../../agent/plan/plan-changes.ts';
import { announcementOf, NOTHING_REPORTED } from '../../../agent/report/announcement-of.ts';
import type { Finding } from '../../../agent/report/reports.ts';
import type { SyncOutcome } from '../../../agent/report/sync-outcome.ts';
import { type Surroundings, UNKNOWN } from '../../../agent/resource/judge-resource.ts';
import { viewProfile } from '../../../agent/resource/stored-syncs.ts';
import { projectResource } from '../../../agent/resource/watch-resource.ts';
import { idleFinding } from '../../../agent/sync/in-force.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { TransientError } from '../../../shared/errors.ts';
import { versionOf } from './api-server.ts';
import { checkPlaced, checkReport, timeOfTarget } from './invariants.ts';
import { MAPPINGS, podNameOf, prune, syncOf } from './store.ts';
import { type Agent, replaceAt, type Setup, type World } from './world.ts';

/*
 * The job of `agent/sync/sync-job.ts`, which calls the real functions for the wanted release, its validity during a
 * sync, and the report. A sync is one step, because its files are delivered all at once or not at all.
 */

/** Delivers the next version to the watch, or the last one after an interruption. */
export function watch(world: World, index: number, setup: Setup, version = nextFor(world, index)): World {
  if (!version) return world;
  const agent = world.agents[index] as Agent;
  const { parts } = setup;
  const verdict = parts.judgeResource(projectResource(version), 'default', surroundingsOf(index));
  const seen = { ...agent, seen: version };
  if (isDeepStrictEqual(verdict, agent.verdict)) return prune(withAgent(world, index, seen));
  const inProgress =
    agent.inProgress && parts.standingOf(agent.inProgress, verdict) !== 'withdrawn' ? agent.inProgress : undefined;
  return prune(withAgent(world, index, { ...seen, verdict, inProgress, isAwake: true }));
}

export function nextFor({ versions, agents }: World, index: number) {
  const { seen } = agents[index] as Agent;
  return seen ? versions.find((version) => versionOf(version) > versionOf(seen)) : versions.at(-1);
}

export function hasWork(world: World, index: number): boolean {
  const { isAwake, inProgress, report } = world.agents[index] as Agent;
  return isAwake || inProgress !== undefined || report !== undefined || nextFor(world, index) !== undefined;
}

/** Does all of its work at once. */
export function work(world: World, index: number, setup: Setup): World {
  const looked = nextFor(world, index) ? watch(world, index, setup, world.versions.at(-1)) : world;
  const begun = looked.agents[index]?.isAwake ? begin(looked, index, setup) : looked;
  return writeReport(place(begun, index, setup), index);
}

/** Revisions of `spec.sync` that the controller stores: all in the model. */
const kept = new Map(
  MAPPINGS.map((mapping) => [syncRevision(syncOf(mapping)), viewProfile(syncOf(mapping), 'default')]),
);

function surroundingsOf(index: number): Surroundings {
  return {
    self: () => ({ identity: { podName: podNameOf(index), gatewayName: undefined }, labels: new Map() }),
    findSync: ({ revision }) => kept.get(revision) ?? 'there is none',
  };
}

/** One iteration of the loop: starts a sync, or reports why there is none. */
export function begin(world: World, index: number, setup: Setup): World {
  const agent = world.agents[index] as Agent;
  const { verdict } = agent;
  const intent = setup.parts.intentAfter(verdict, agent.intent);
  const intentAt = verdict.kind === 'act' && agent.seen ? timeOfTarget(world.truth, agent.seen) : agent.intentAt;
  const next = withAgent(world, index, { ...agent, intent, intentAt, isAwake: false, inProgress: intent });
  if (intent || verdict.kind === 'act' || verdict.kind === 'unknown') return next;
  return announce(next, index, setup, { kind: 'idle', finding: idleFinding(verdict) });
}

/** Delivers all files. */
export function place(world: World, index: number, setup: Setup): World {
  const agent = world.agents[index] as Agent;
  const { inProgress: intent, disk } = agent;
  if (!intent) return world;
  if (world.host.isDown && disk?.commit !== intent.commit) return failToFetch(world, index, setup);
  const { ref, commit, revision, profile } = intent;
  const mapping = profile.mappings[0]?.source ?? '';
  const isChanged = disk?.commit !== commit || disk.mapping !== mapping;
  const applied = { ref, commit, time: '', ...(revision && { revision }), mapping };
  const placed = withAgent(world, index, { ...agent, inProgress: undefined, disk: applied });
  checkPlaced(placed, index, { rollout: revision !== undefined, at: agent.intentAt });
  const truth = { ...placed.truth, placedAt: replaceAt(placed.truth.placedAt, index, agent.intentAt) };
  const plan = isChanged ? planOf('a file') : planOf();
  return announce({ ...placed, truth }, index, setup, { kind: 'synced', intent, plan, durationMs: 1 });
}

function failToFetch(world: World, index: number, setup: Setup): World {
  const agent = world.agents[index] as Agent;
  const { inProgress: intent } = agent;
  if (!intent) return world;
  const error = new TransientError('the host cannot be reached', {
    code: 'git.unreachable',
    reason: 'GitUnreachable',
  });
  const failed = withAgent(world, index, { ...agent, inProgress: undefined, isAwake: true });
  return announce(failed, index, setup, { kind: 'failed', intent, error, durationMs: 1 });
}

/** Returns an agent that has just started with this disk. */
export function newAgent(disk: Agent['disk']): Agent {
  return {
    seen: undefined,
    verdict: UNKNOWN,
    intent: undefined,
    intentAt: 0,
    isAwake: false,
    inProgress: undefined,
    disk,
    memory: NOTHING_REPORTED,
    report: undefined,
  };
}

/** Ends the process, and starts another one with the same disk. */
export function kill(world: World, index: number, setup: Setup): World {
  const { disk } = world.agents[index] as Agent;
  return withReport(prune(withAgent(world, index, newAgent(disk))), index, setup, {
    state: 'Pending',
    message: 'the agent is starting',
  });
}

/** Writes the last report. */
export function writeReport(world: World, index: number): World {
  const agent = world.agents[index] as Agent;
  if (!agent.report) return world;
  const isSame = isDeepStrictEqual(world.reports[index], agent.report);
  const reports = isSame ? world.reports : replaceAt(world.reports, index, agent.report);
  return { ...withAgent(world, index, { ...agent, report: undefined }), reports };
}

function announce(world: World, index: number, setup: Setup, outcome: SyncOutcome): World {
  const agent = world.agents[index] as Agent;
  const { memory, report } = announcementOf(agent.memory, outcome);
  const next = withAgent(world, index, { ...agent, memory });
  return report ? withReport(next, index, setup, report) : next;
}

function withReport(world: World, index: number, { parts }: Setup, finding: Finding): World {
  const agent = world.agents[index] as Agent;
  const podName = podNameOf(index);
  const identity = {
    podName,
    podUid: podName,
    namespace: 'ns',
    crName: 'app',
    profile: 'default',
    gatewayName: undefined,
  };
  const { mapping: _, ...applied } = agent.disk ?? { mapping: undefined };
  const context = {
    identity,
    gateway: podName,
    applied: agent.disk && (applied as Agent['disk']),
    agentVersion: '1.0.0',
  };
  const report = parts.reportStatus(finding, context);
  checkReport(world, index, report);
  return withAgent(world, index, { ...agent, report });
}

function planOf(...paths: string[]): Plan {
  const changes = paths.map((path) => {
    const file = { path, source: path, blob: '', executable: false, template: false };
    return { kind: 'add' as const, path, reason: 'New' as const, file };
  });
  const directories = { create: [], clear: [], prune: [] };
  return {
    changes,
    directories,
    publications: [],
    retained: new Set<string>(),
    unchanged: 0,
    corrected: [],
    disowned: [],
    drift: [],
    isPartial: false,
  };
}

const withAgent = (world: World, index: number, agent: Agent): World => ({
  ...world,
  agents: replaceAt(world.agents, index, agent),
});
