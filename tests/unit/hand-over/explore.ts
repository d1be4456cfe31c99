import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { NOTHING_REPORTED } from '../../../agent/report/announcement-of.ts';
import type { ObservedGatewaySync } from '../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { versionOf } from './api-server.ts';
import { ask, decideAndSend, observe, start } from './controllers.ts';
import { checkRest } from './invariants.ts';
import { agentMoves, controllerMoves, firstWorld, movesOf, receiverMoves, wakeByTime } from './moves.ts';
import { resultsOf } from './releases.ts';
import { liveOf, type Setup, type World } from './world.ts';

/** Maximum number of steps until all is idle. */
const MAX_STEPS = 400;

/** Explores all reachable states of a world, and the way to rest from each. Returns their number. */
export function explore(setup: Setup, { most = Number.POSITIVE_INFINITY } = {}): number {
  const first = firstWorld(setup);
  const seen = new Set([keyOf(first)]);
  const quiet = new Set<string>();
  let open: [World, Path][] = [[first, undefined]];
  while (open.length > 0) {
    const next: typeof open = [];
    for (const [world, path] of open) {
      attempt(path, () => comesToRest(world, setup, quiet));
      for (const [name, make] of movesOf(world, setup)) {
        const to = { name, before: path };
        const after = attempt(to, make);
        const key = keyOf(after);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push([after, to]);
      }
      assert.ok(seen.size <= most, `more than ${most} states`);
    }
    open = next;
  }
  return seen.size;
}

/** Follows one long history with numbers as choices, until it comes to rest. */
export function follow(setup: Setup, choices: readonly number[]): void {
  let world = firstWorld(setup);
  let path: Path;
  for (const choice of choices) {
    const moves = movesOf(world, setup);
    if (moves.length === 0) break;
    const [name, make] = moves[choice % moves.length] as (typeof moves)[number];
    path = { name, before: path };
    world = attempt(path, make);
  }
  attempt(path, () => comesToRest(world, setup, new Set()));
}

/** The moves that led to a state. */
type Path = { name: string; before: Path } | undefined;

function attempt<T>(path: Path, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const names: string[] = [];
    for (let at = path; at; at = at.before) names.unshift(at.name);
    throw new Error(`${(error as Error).message}\nafter: ${names.join('; ')}`, { cause: error });
  }
}

/** Checks that, without new events and with an available git server, everything becomes idle and correct. */
function comesToRest(from: World, setup: Setup, known: Set<string>): void {
  let world: World = { ...from, left: {}, unanswered: [], host: { ...from.host, isDown: false } };
  for (let step = 0; ; step += 1) {
    const key = keyOf(world);
    if (known.has(key)) return;
    known.add(key);
    const move = [...receiverMoves(world, setup), ...controllerMoves(world, setup), ...agentMoves(world, setup)][0];
    const due = world.controllers.flatMap((controller) => controller?.nextQueryAt ?? []);
    if (!move && due.length === 0) break;
    assert.ok(step < MAX_STEPS, `does not come to rest: ${JSON.stringify(liveOf(world).status)}`);
    world = move ? move[1]() : wakeByTime({ ...world, now: Math.max(world.now, ...due) });
  }
  checkQuiet(world, setup);
  if (!liveOf(world).spec.paused) checkRest(world, setup);
}

/** Checks that a replica has nothing to write after a resync, or after a start. */
function checkQuiet(world: World, setup: Setup): void {
  const leader = world.controllers.findIndex((controller) => controller?.mayWrite);
  const { question } = world.controllers[leader] as NonNullable<World['controllers'][number]>;
  for (const controller of [world.controllers[leader], { ...start(world, setup), question }]) {
    const controllers = world.controllers.map((each, index) => (index === leader ? controller : each));
    const asked = question ? ask({ ...world, controllers }, leader) : { ...world, controllers };
    const after = decideAndSend(observe(asked, leader), leader, setup);
    const patch = after.controllers[leader]?.write;
    assert.equal(patch && JSON.stringify(patch.status), undefined, 'written again and again');
  }
}

/** Identifies worlds by everything that affects later moves. */
function keyOf(world: World): string {
  const known = keys.get(world);
  if (known !== undefined) return known;
  const key = hash('sha1', makeKey(world), 'base64');
  keys.set(world, key);
  return key;
}

const keys = new WeakMap<World, string>();

function makeKey(world: World): string {
  const order = world.versions.map((version) => idOf(version));
  const place = (version: number) => world.versions.filter((each) => versionOf(each) > version).length;
  const controllers = world.controllers.map(
    (controller) =>
      controller && [
        ...[controller.mayWrite, controller.isAwake, controller.looks, controller.nextQueryAt],
        controller.sights,
        ...[place(Number(controller.cached.resourceVersion)), observedId(controller.cached)],
        controller.reports.map((report) => report?.status && textOf(report.status)),
        controller.decided && textOf(controller.decided),
        ...[controller.question, controller.answer?.question, controller.answer?.shown],
        controller.lastGood && [...controller.lastGood.refs],
        controller.turn && [
          observedId(controller.turn.seen),
          controller.turn.answer === 'querying' || controller.turn.answer?.kind,
          controller.turn.isAgain,
        ],
        controller.write && [
          ...[place(Number(controller.write.seen.resourceVersion)), textOf(controller.write.seen.status)],
          ...[textOf(controller.write.status), controller.write.isAgain],
        ],
      ],
  );
  const agents = world.agents.map((agent) => [
    agent.seen && [place(versionOf(agent.seen)), idOf(agent.seen)],
    ...[textOf(agent.verdict), agent.intent && textOf(agent.intent), agent.isAwake],
    ...[agent.inProgress && textOf(agent.inProgress), agent.disk],
    ...[agent.memory === NOTHING_REPORTED ? 0 : textOf(agent.memory), agent.report && textOf(agent.report)],
  ]);
  const reports = world.reports.map((report) => report && textOf(report));
  const { now, receivers, host, unanswered, left, truth } = world;
  const releases = resultsOf(world.releases);
  return JSON.stringify([now, order, releases, controllers, agents, reports, receivers, host, unanswered, left, truth]);
}

/** Times without an effect. */
const IDLE = new Set([
  ...['lastTransitionTime', 'lastSyncTime', 'time', 'startedAt', 'waveStartedAt', 'admittedAt', 'soakStartedAt'],
  ...['resourceVersion', 'waitsSince', 'duration', 'nextSince'],
]);

const texts = new WeakMap<object, number>();
const numbers = new Map<string, number>();

/** A number for the content of an object. */
function textOf(object: object): number {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object, (key, value) => (IDLE.has(key) ? undefined : value));
  const number = numbers.get(text) ?? numbers.size;
  numbers.set(text, number);
  texts.set(object, number);
  return number;
}

const idOf = ({ metadata, spec, status }: GatewaySync): unknown => [
  metadata.generation,
  textOf(metadata.annotations ?? NONE),
  ownersOf(metadata),
  textOf(spec),
  textOf(status ?? NONE),
];

const NONE = {};

/** Includes times, which matter here. */
function ownersOf({ managedFields = [] }: GatewaySync['metadata']): number {
  const text = JSON.stringify(managedFields);
  const number = numbers.get(text) ?? numbers.size;
  numbers.set(text, number);
  return number;
}

const observedId = (seen: ObservedGatewaySync) => [
  ...[seen.generation, textOf(seen.status), seen.request, seen.push, textOf(seen.spec), seen.editSeenAt],
];
