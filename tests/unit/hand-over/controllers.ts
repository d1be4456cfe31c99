import { eventOf, readIntents } from '../../../controller/intent/intents.ts';
import { neededRefs } from '../../../controller/intent/resolve-ref.ts';
import type { FoundRefs, PendingQuery, QueryResult } from '../../../controller/polling/query-result.ts';
import { WantedRefs } from '../../../controller/polling/ref-query.ts';
import { isEqual, mergePatchOf } from '../../../controller/reconcile/status/merge-patch.ts';
import type { ObservedGatewaySync } from '../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../../controller/watch/observed-pod.ts';
import type { ObservedReport } from '../../../controller/watch/observed-report.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { specRef } from '../../../shared/domain/git/spec-ref.ts';
import { TransientError } from '../../../shared/errors.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { answerOf, CREATED, versionOf } from './api-server.ts';
import { checkDecided } from './invariants.ts';
import { withNotedResults, withReleases } from './releases.ts';
import { podNameOf, prune, store } from './store.ts';
import { type Controller, liveOf, type Question, replaceAt, type Setup, type World } from './world.ts';

const KEY = 'ns/app';

/*
 * The rest of a reconcile (`controller/reconcile/reconcile.ts`, `write-status.ts`), which can't run step by step: it
 * observes, decides, sends a patch, and handles the response. `controller/polling` is reduced to three rules: a new event
 * requires a new query, and so does a ref that wasn't queried, and an error keeps the last refs.
 */

/** Starts a process, which lists all objects and reconciles them once. */
export function start(world: World, setup: Setup): Controller {
  const live = liveOf(world);
  return {
    mayWrite: true,
    decided: undefined,
    question: undefined,
    answer: undefined,
    lastGood: undefined,
    isAwake: true,
    looks: 0,
    nextQueryAt: undefined,
    turn: undefined,
    write: undefined,
    cached: setup.parts.projectGatewaySync(live, undefined, world.now),
    sights: (live.metadata.generation ?? 0) > 1 ? { [specRef(live.spec.git)]: world.now } : {},
    reports: world.reports.map((_, index) => reportOf(world, index)),
  };
}

/** Delivers the next version to the watch, or the last one after an interruption. */
export function watch(world: World, index: number, setup: Setup, version = nextFor(world, index)): World {
  const controller = world.controllers[index] as Controller;
  const { parts } = setup;
  if (!version) return world;
  const previous = controller.cached;
  const object = parts.projectGatewaySync(version, previous, world.now);
  const woken =
    parts.isDecidedElsewhere(controller.decided, object.status) ||
    parts.affectedByGatewaySync({ type: 'upserted', key: KEY, object, previous }).length > 0;
  const sights = sightsOf(controller, object, world.now);
  return prune(
    withController(world, index, { ...controller, cached: object, sights, isAwake: controller.isAwake || woken }),
  );
}

export function nextFor(world: World, index: number) {
  const cached = Number(world.controllers[index]?.cached.resourceVersion);
  return world.versions.find((version) => versionOf(version) > cached);
}

/** Delivers the report of a gateway to the watch. */
export function hear(world: World, index: number, agent: number, { parts }: Setup): World {
  const controller = world.controllers[index] as Controller;
  const object = reportOf(world, agent);
  if (!object) return world;
  const change = {
    type: 'upserted' as const,
    key: `ns/${podNameOf(agent)}`,
    object,
    previous: controller.reports[agent],
  };
  const woken = parts.affectedByReport(change, podOf(agent)).length > 0;
  const reports = replaceAt(controller.reports, agent, object);
  return withController(world, index, { ...controller, reports, isAwake: controller.isAwake || woken });
}

export function hasNewsOf(world: World, index: number, agent: number): boolean {
  return (
    world.reports[agent] !== undefined && world.controllers[index]?.reports[agent]?.status !== world.reports[agent]
  );
}

/** Current refs of the git server. */
const shownBy = ({ host }: World): string => JSON.stringify(host);

/** Responds to the last query, or fails it if the git server is unavailable. */
export function ask(world: World, index: number): World {
  const controller = world.controllers[index] as Controller;
  const { question, lastGood } = controller;
  const { refs, isDown } = world.host;
  if (!question) return world;
  const down = new TransientError('the host cannot be reached', { code: 'git.unreachable', reason: 'GitUnreachable' });
  const value: QueryResult = isDown
    ? { kind: 'error', error: down, lastGood, retryAfterMs: 1000 }
    : { kind: 'refs', ...refsFor(question, refs) };
  return withController(world, index, {
    ...controller,
    isAwake: true,
    answer: { question, value, shown: shownBy(world) },
    lastGood: value.kind === 'refs' ? value : lastGood,
  });
}

/** With a range, the query keeps only the tags that are needed. */
function refsFor({ prefixes, range }: Question, refs: World['host']['refs']): FoundRefs {
  if (range === undefined) return { refs: new Map(Object.entries(refs)) };
  const wanted = new WantedRefs({ prefixes, ranges: [range] });
  for (const [name, commit] of Object.entries(refs)) wanted.add(name, commit);
  return wanted.found;
}

/** Starts a reconcile: observes the cached resource, or a later version, and queries the git server. */
export function observe(world: World, index: number, live?: ObservedGatewaySync): World {
  const controller = world.controllers[index] as Controller;
  const seen = live ?? controller.cached;
  if (seen.spec.paused) {
    const asked = { question: undefined, answer: undefined };
    const turn = { seen, answer: undefined, isAgain: live !== undefined };
    return withController(world, index, { ...controller, ...asked, isAwake: false, turn });
  }
  const intents = readIntents(seen);
  const isDue = controller.nextQueryAt !== undefined && controller.nextQueryAt <= world.now;
  const looks = controller.looks + (isDue ? 1 : 0);
  const event = eventOf(seen, intents);
  const { prefixes, range } = neededRefs(intents);
  const question = { event: event && `${event}${looks}`, prefixes, range };
  const answer = serves(controller, question) ? controller.answer?.value : undefined;
  const nextQueryAt = isDue ? undefined : controller.nextQueryAt;
  return withController(world, index, {
    ...controller,
    question,
    looks,
    nextQueryAt,
    isAwake: false,
    turn: { seen, answer: answer ?? 'querying', isAgain: live !== undefined },
  });
}

/** Whether a response is missing or would differ now, as at the next poll. */
export function isOwed(world: World, index: number): boolean {
  const controller = world.controllers[index];
  if (!controller?.question) return false;
  return !serves(controller, controller.question) || controller.answer?.shown !== shownBy(world);
}

function serves({ answer }: Controller, { event, prefixes, range }: Question): boolean {
  if (!answer || (event !== undefined && answer.question.event !== event)) return false;
  const { question, value } = answer;
  const isChosen = (tag: string) => range !== undefined && value.kind === 'refs' && value.refs.has(tag);
  return question.range === range && prefixes.every((name) => question.prefixes.includes(name) || isChosen(name));
}

/** Decides, stores the releases that are missing, and sends the patch of the status if it differs. */
export function decideAndSend(before: World, index: number, setup: Setup, { isPatient = true } = {}): World {
  const { parts } = setup;
  const controller = before.controllers[index] as Controller;
  const { turn, reports, mayWrite } = controller;
  if (!turn) return before;
  const { seen, isAgain } = turn;
  const asking: PendingQuery = { kind: 'querying', forMs: isPatient ? 0 : 10_000 };
  const observation = {
    gatewaySync: seen,
    intents: readIntents(seen),
    query: turn.answer === 'querying' ? asking : turn.answer,
    pods: before.agents.map((_, at) => podOf(at)),
    missing: [],
    unmade: [],
    accessProblems: [],
    isLabelRequired: false,
    cluster: '',
    commitStatus: undefined,
    reportOf: ({ uid }: ObservedPod) => reports.find((report) => report?.podUID === uid),
  };
  const first = parts.decide({ ...observation, releases: before.releases }, before.now);
  const mustStore = first.toStore.length > 0 && first.holdForMs === 0 && mayWrite;
  const world = mustStore ? withReleases(before, first.toStore) : before;
  const decision = mustStore ? parts.decide({ ...observation, releases: world.releases }, world.now) : first;
  const { status, holdForMs, requeryInMs } = decision;
  const nextQueryAt = requeryInMs === undefined ? undefined : world.now + requeryInMs;
  const planned = { ...controller, turn: undefined, ...(turn.answer !== 'querying' && { nextQueryAt }) };
  if (holdForMs > 0) return withController(world, index, planned);
  const decided = { ...planned, decided: status };
  if (isEqual(seen.status, status)) return withController(world, index, decided);
  // A replica that isn't the leader sends nothing; it retries later.
  if (!mayWrite) return fail(world, index, decided);
  return withController(world, index, { ...decided, write: { seen, status, isAgain } });
}

/** The patch arrives at the API server; the response may be lost. */
export function land(world: World, index: number, setup: Setup, { isHeard = true } = {}): World {
  const { parts } = setup;
  const controller = world.controllers[index] as Controller;
  const { write, mayWrite } = controller;
  if (!write) return world;
  const { seen, status, isAgain } = write;
  const { uid, resourceVersion } = seen;
  const patch = mergePatchOf(seen.status, status);
  const quiet = { ...controller, write: undefined };
  const metadata = isAgain && passesTests(liveOf(world), seen) ? { uid } : { uid, resourceVersion };
  const after = answerOf(() => parts.withStatus(liveOf(world), { metadata, status: patch }));
  if (after instanceof ApiError) {
    if (!isHeard || !mayWrite) return fail(world, index, quiet);
    const live = parts.projectGatewaySync(liveOf(world), controller.cached, world.now);
    const informed = { ...quiet, sights: sightsOf(controller, live, world.now) };
    const observed = observe(withController(world, index, informed), index, live);
    return setup.controller === 'slow' ? observed : decideAndSend(observed, index, setup);
  }
  checkDecided(liveOf(world), after, seen);
  const landed = withNotedResults(store(withSight(world, controller, after), after, setup));
  if (!isHeard) return fail(landed, index, quiet);
  return prune(withController(landed, index, mayWrite ? quiet : undefined));
}

/** The tests of the patch after a conflict. */
const passesTests = ({ metadata, status = {} }: GatewaySync, seen: ObservedGatewaySync): boolean =>
  metadata.generation === seen.generation && isEqual(status, seen.status);

/** When a controller first saw the refs of edits: an edit counts from then. */
function sightsOf({ cached, sights }: Controller, { spec }: ObservedGatewaySync, now: number): Controller['sights'] {
  const ref = specRef(spec.git);
  return ref === specRef(cached.spec.git) ? sights : { ...sights, [ref]: now };
}

/** Records when the controller that stores an edit first saw it, which is the time of the edit. */
function withSight(world: World, { sights }: Controller, { status = {} }: GatewaySync): World {
  const before = liveOf(world).status ?? {};
  const ref = status.observedRef ?? status.observedSemver;
  if (ref === undefined || ref === (before.observedRef ?? before.observedSemver)) return world;
  const edits = { ...world.truth.edits, [ref]: sights[ref] ?? CREATED };
  return { ...world, truth: { ...world.truth, edits } };
}

/** The patch in progress is lost before it arrives. */
export function lose(world: World, index: number): World {
  return fail(world, index, { ...(world.controllers[index] as Controller), write: undefined });
}

/** Passes the lease to the other replica. Sent patches of the first one may still arrive; it exits when it notices. */
export function moveLease(world: World, setup: Setup): World {
  const leader = world.controllers.findIndex((controller) => controller?.mayWrite);
  const other = world.controllers.findIndex((_, index) => index !== leader);
  const before = world.controllers[leader];
  const zombie = before?.write ? { ...before, mayWrite: false, isAwake: false, turn: undefined } : undefined;
  const left = { ...world, controllers: replaceAt(world.controllers, leader, zombie) };
  return prune({ ...left, controllers: replaceAt(left.controllers, other, start(left, setup)) });
}

/** Ends a failed write; the resource is requeued, unless the process has ended. */
function fail(world: World, index: number, controller: Controller): World {
  return prune(withController(world, index, controller.mayWrite ? { ...controller, isAwake: true } : undefined));
}

const withController = (world: World, index: number, controller: Controller | undefined): World => ({
  ...world,
  controllers: replaceAt(world.controllers, index, controller),
});

const pods = new Map<number, ObservedPod>();

function podOf(index: number): ObservedPod {
  const name = podNameOf(index);
  const pod: ObservedPod = pods.get(index) ?? {
    namespace: 'ns',
    name,
    uid: name,
    crName: 'app',
    gatewayName: name,
    profile: 'default',
    serviceAccountName: 'default',
    sidecar: 'present',
    live: true,
    createdAt: CREATED,
    labels: {},
  };
  pods.set(index, pod);
  return pod;
}

function reportOf({ reports }: World, index: number): ObservedReport | undefined {
  const status = reports[index];
  return status && { podUID: podNameOf(index), status };
}
