import { basename } from 'node:path/posix';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { ANSWER_BOUNDS, readJson } from '../../../shared/domain/text/read-json.ts';
import { oneLine } from '../../../shared/domain/text/text.ts';
import { TransientError } from '../../../shared/errors.ts';
import { ask, requestScans, send, withKey } from './ignition-api.ts';
import { projectsIn, projectsOfChanges, UNNAMED } from './ignition-projects.ts';
import { holdScans } from './ignition-scan-locks.ts';
import type { Preset, PresetScope } from './preset.ts';

/** Time for the gateway to show what the scans have found (ms), for a list to follow a scan, and between two looks. */
const RESULT_MS = 10_000;
const LAG_MS = 2_000;
const LOOK_MS = 500;
/** The gateway chooses the names, which appear in reports. */
const MAX_NAME = 100;

// Shapes of answers. Sources: the requests in the repository inductiveautomation/83-api on GitHub, and the gateway's
// own description under /openapi, as quoted by public clients of Ignition 8.3.3 to 8.3.9. None was seen from the product here.
const sessionsSchema = v.object({
  items: v.array(v.object({ user: v.nullish(v.string()), project: v.nullish(v.string()) })),
});
/** `role` is configured, and stays the same after a failover; `activityLevel` (Active, Warm, Cold) changes. */
const redundancySchema = v.object({ role: v.string(), activityLevel: v.optional(v.string()) });
/** Times are in milliseconds of the gateway's clock. A scan that was requested might not have begun yet. */
const scanSchema = v.object({ scanActive: v.boolean(), lastScanTimestamp: v.number() });
/** Projects that can run: neither disabled nor inheritable ones. */
const projectsSchema = v.object({ items: v.array(v.object({ name: v.string() })) });
const restartSchema = v.object({ pending: v.array(v.string()) });

/** Inductive Automation Ignition 8.3 and later, through its REST API. */
export const ignition = {
  /** The backup of a redundant pair takes its configuration from the master, until it has to replace it. */
  isStandby: async (scope) => {
    const state = await ask(redundancySchema, '/redundancy', scope);
    return state && state.role === 'Backup' && state.activityLevel !== 'Active';
  },
  listEditors: async (scope, paths) => {
    const body = await send({ method: 'GET', path: '/designers' }, scope);
    const sessions = readJson(sessionsSchema, Buffer.from(body), ANSWER_BOUNDS);
    if (!sessions) throw unreadable();
    if (sessions.items.length === 0) return [];
    const changed = projectsOfChanges(paths);
    // A session without a project can be about any.
    const edits = (project: string) => changed.has(project) || changed.has(UNNAMED);
    return sessions.items
      .filter(({ project }) => (project ? edits(project) : changed.size > 0))
      .map(({ user, project }) => oneLine(`${user || 'unknown user'}${project ? ` on ${project}` : ''}`, MAX_NAME));
  },
  holdReads: holdScans,
  endHold: requestScans,
  reload: async (scope, delivered) => {
    const before = await ask(scanSchema, '/scan/projects', scope);
    await requestScans(scope);
    const limit = AbortSignal.timeout(RESULT_MS);
    const looking = { ...scope, signal: scope.signal ? AbortSignal.any([scope.signal, limit]) : limit };
    if (before) await awaitScan(before.lastScanTimestamp, looking);
    const notes = [await describeProjects(await delivered(), looking), await describeRestart(looking)];
    scope.signal?.throwIfAborted();
    return notes.filter((note) => note !== undefined);
  },
  checks: [withKey({ method: 'GET', path: '/gateway-info' })],
} satisfies Preset;

const unreadable = () =>
  new TransientError('cannot list the editors on the gateway: unexpected response to GET /data/api/v1/designers', {
    code: 'gateway.answer',
    reason: 'GatewayRefused',
  });

type Looking = PresetScope & { signal: AbortSignal };

/** Waits for the scan that follows an earlier one. Only a hint: the time of a scan can appear late, or never. */
async function awaitScan(earlier: number, looking: Looking): Promise<void> {
  while (!looking.signal.aborted) {
    const state = await ask(scanSchema, '/scan/projects', looking);
    if (!state || (!state.scanActive && state.lastScanTimestamp > earlier)) return;
    await pause(looking);
  }
}

/** Compares the delivered projects with those of the gateway. */
async function describeProjects(delivered: Iterable<string>, looking: Looking): Promise<string | undefined> {
  const expected = projectsIn(delivered).flatMap((path) => (path === UNNAMED ? [] : basename(path)));
  if (expected.length === 0) return undefined;
  const endsAt = performance.now() + LAG_MS;
  for (;;) {
    const list = await ask(projectsSchema, '/projects/list?limit=-1', looking);
    if (!list) return 'the gateway did not list its projects in time';
    const listed = new Set(list.items.map(({ name }) => name));
    const missing = expected.filter((name) => !listed.has(name));
    if (missing.length === 0) return `the gateway has all ${expected.length} delivered projects`;
    if (performance.now() >= endsAt || looking.signal.aborted)
      return `the gateway does not list ${missing.length} of ${expected.length} delivered projects (${firstOf(missing)}): each needs a valid project.json, and disabled and inheritable ones are never listed`;
    await pause(looking);
  }
}

async function describeRestart(looking: Looking): Promise<string | undefined> {
  const { pending = [] } = (await ask(restartSchema, '/restart-tasks/pending', looking)) ?? {};
  return pending.length > 0
    ? `when it was notified, the gateway had to be restarted for ${firstOf(pending)}`
    : undefined;
}

const pause = ({ signal }: Looking): Promise<void> => sleep(LOOK_MS, undefined, { signal }).catch(() => {});

function firstOf(names: readonly string[]): string {
  const more = names.length > 3 ? ', …' : '';
  return `${names
    .slice(0, 3)
    .map((name) => oneLine(name, MAX_NAME))
    .join(', ')}${more}`;
}
