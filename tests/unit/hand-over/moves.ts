import { specRef } from '../../../shared/domain/git/spec-ref.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import * as agents from './agents.ts';
import { CREATED, createResource, edited, withStatus } from './api-server.ts';
import * as controllers from './controllers.ts';
import * as receivers from './receivers.ts';
import { hasWork, work } from './reconcile-at-once.ts';
import { store, syncOf } from './store.ts';
import { type Budget, commit, liveOf, type Setup, type World } from './world.ts';

export type Move = [name: string, next: () => World];

/** Time between two external events (ms), which receivers can distinguish. */
const STEP_MS = 5_000;
const MINUTE_MS = 60_000;

/** A world without requests, before the first reconcile. */
export function firstWorld(setup: Setup): World {
  const { spec = {}, refs = REFS, budget } = setup;
  const resource = createResource({ sync: syncOf('a'), ...spec });
  const each = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
  const count = setup.agents ?? 1;
  const world: World = {
    now: CREATED + STEP_MS,
    versions: [resource],
    releases: [],
    reports: each(count, undefined),
    receivers: each(setup.receivers ?? 1, { waiting: [], sent: undefined }),
    controllers: [undefined, undefined],
    agents: each(count, agents.newAgent(undefined)),
    host: { refs, isDown: false },
    unanswered: [],
    left: budget,
    truth: {
      asked: {},
      edits: { [specRef(resource.spec.git)]: CREATED },
      accepted: {},
      stored: {},
      givenUp: [],
      followedAt: CREATED,
      rollouts: {},
      admitted: each(count, []),
      placedAt: each(count, 0),
    },
  };
  return { ...world, controllers: [controllers.start(world, setup), undefined] };
}

const REFS = {
  'refs/heads/main': commit('a'),
  'refs/heads/next': commit('b'),
  'refs/heads/dev': commit('c'),
  'refs/tags/v1': commit('1'),
  'refs/tags/v2': commit('2'),
};

/** All possible moves in a world. */
export function movesOf(world: World, setup: Setup): Move[] {
  return [
    ...receiverMoves(world, setup),
    ...controllerMoves(world, setup),
    ...agentMoves(world, setup),
    ...outsideMoves(world, setup),
  ];
}

/** Moves that follow from earlier ones. */
export function receiverMoves(world: World, setup: Setup): Move[] {
  return world.receivers.flatMap(({ waiting, sent }, index): Move[] => {
    const isSending = sent !== undefined;
    return [
      ...when(!isSending && waiting.length > 0, `receiver ${index} sends`, () => receivers.send(world, index, setup)),
      ...when(isSending, `patch of receiver ${index} arrives`, () => receivers.land(world, index, setup)),
    ];
  });
}

export function controllerMoves(world: World, setup: Setup): Move[] {
  return world.controllers.flatMap((controller, index): Move[] => {
    if (!controller) return [];
    const { isAwake, turn, write, mayWrite } = controller;
    const named = (what: string) => `controller ${index} ${what}`;
    const observe = () => {
      const next = controllers.observe(world, index);
      return setup.controller === 'slow' ? next : controllers.decideAndSend(next, index, setup);
    };
    if (setup.controller === 'at once')
      return when(hasWork(world, index), named('reconciles'), () => work(world, index, setup));
    return [
      ...when(mayWrite && isAwake && !turn && !write, named('observes'), observe),
      ...when(turn !== undefined, named('decides'), () => controllers.decideAndSend(world, index, setup)),
      ...when(write !== undefined, named('writes'), () => controllers.land(world, index, setup)),
      ...when(mayWrite && controllers.isOwed(world, index), named('is answered'), () => controllers.ask(world, index)),
      ...when(mayWrite && controllers.nextFor(world, index) !== undefined, named('hears of the resource'), () =>
        controllers.watch(world, index, setup),
      ),
      ...(mayWrite
        ? world.agents.flatMap((_, agent) =>
            when(controllers.hasNewsOf(world, index, agent), named(`hears of gateway ${agent}`), () =>
              controllers.hear(world, index, agent, setup),
            ),
          )
        : []),
    ];
  });
}

export function agentMoves(world: World, setup: Setup): Move[] {
  return world.agents.flatMap(({ isAwake, inProgress, report }, index): Move[] => {
    const named = (what: string) => `gateway ${index} ${what}`;
    if (setup.agent === 'at once')
      return when(agents.hasWork(world, index), named('syncs'), () => agents.work(world, index, setup));
    return [
      ...when(agents.nextFor(world, index) !== undefined, named('hears of the resource'), () =>
        agents.watch(world, index, setup),
      ),
      ...when(isAwake && !inProgress, named('begins'), () => agents.begin(world, index, setup)),
      ...when(inProgress !== undefined, named('places'), () => agents.place(world, index, setup)),
      ...when(report !== undefined, named('reports'), () => agents.writeReport(world, index)),
    ];
  });
}

/** Moves of users, git servers, and chance, which are limited in number. */
function outsideMoves(world: World, setup: Setup): Move[] {
  const { left } = world;
  const moves: Move[] = [];
  const to = (name: string, used: Budget, next: (later: World) => World) =>
    moves.push([name, () => next({ ...world, left: { ...left, ...used }, now: world.now + STEP_MS })]);
  for (const [at, delivery] of (left.deliveries ?? []).entries())
    for (const index of world.receivers.keys())
      to(
        `${delivery.kind} ${delivery.ref} comes to receiver ${index}`,
        { deliveries: without(left.deliveries, at) },
        (later) => receivers.arrive(later, index, delivery, setup),
      );
  for (const [at, delivery] of world.unanswered.entries())
    to(`${delivery.ref} comes again`, {}, (later) =>
      receivers.arrive({ ...later, unanswered: without(world.unanswered, at) }, 0, delivery, setup),
    );
  const live = liveOf(world);
  const [ref, ...edits] = left.edits ?? [];
  if (ref) to(`spec.git becomes ${ref}`, { edits }, (later) => editRef(later, ref, setup));
  const [mapping, ...mappings] = left.mappings ?? [];
  const byPeople = (later: World, spec: object) =>
    store(
      later,
      edited(live, { spec: { ...live.spec, ...spec } }, { manager: 'people', now: later.now }),
      setup,
      'people',
    );
  if (mapping) to('spec.sync is edited', { mappings }, (later) => byPeople(later, { sync: syncOf(mapping) }));
  const { paused } = live.spec;
  if (left.pause)
    to(paused ? 'goes on' : 'is paused', { pause: left.pause - 1 }, (later) => byPeople(later, { paused: !paused }));
  if (left.wipe && live.status) to('the status is wiped', { wipe: left.wipe - 1 }, (later) => wipe(later, setup));
  const [push, ...pushes] = left.pushes ?? [];
  if (push) {
    const [name, moved] = push;
    const refs = { ...omit(world.host.refs, name), ...(moved && { [name]: moved }) };
    to(`${name} ${moved ? 'moves' : 'vanishes'}`, { pushes }, (later) => ({ ...later, host: { ...world.host, refs } }));
  }
  const isDown = !world.host.isDown;
  if (left.host)
    to(isDown ? 'the host goes down' : 'the host is back', { host: left.host - 1 }, (later) => ({
      ...later,
      host: { ...world.host, isDown },
    }));
  if (left.minute)
    to('a minute passes', { minute: left.minute - 1 }, (later) => wakeByTime({ ...later, now: world.now + MINUTE_MS }));
  return [...moves, ...accidents(world, setup)];
}

/** Moves that take no time. */
function accidents(world: World, setup: Setup): Move[] {
  const { left } = world;
  const moves: Move[] = [];
  const to = (name: string, used: Budget, next: (later: World) => World) =>
    moves.push([name, () => next({ ...world, left: { ...left, ...used } })]);
  for (const [index, { sent, waiting }] of world.receivers.entries()) {
    if (left.killReceiver && waiting.length > 0)
      to(`receiver ${index} is killed`, { killReceiver: left.killReceiver - 1 }, (later) =>
        receivers.kill(later, index),
      );
    if (!left.lose || !sent) continue;
    const lose = left.lose - 1;
    to(`patch of receiver ${index} is lost`, { lose }, (later) => receivers.lose(later, index, setup));
    to(`patch of receiver ${index} arrives, its answer is lost`, { lose }, (later) =>
      receivers.land(later, index, setup, { isHeard: false }),
    );
  }
  for (const [index, controller] of world.controllers.entries()) {
    if (left.impatient && controller?.turn?.answer === 'querying')
      to(`controller ${index} says that it asks`, { impatient: left.impatient - 1 }, (later) =>
        controllers.decideAndSend(later, index, setup, { isPatient: false }),
      );
    if (!left.lose || !controller?.write) continue;
    const lose = left.lose - 1;
    to(`patch of controller ${index} is lost`, { lose }, (later) => controllers.lose(later, index));
    to(`patch of controller ${index} arrives, its answer is lost`, { lose }, (later) =>
      controllers.land(later, index, setup, { isHeard: false }),
    );
  }
  // While the previous leader has a write in progress, the third process doesn't exist yet.
  if (left.lease && world.controllers.filter(Boolean).length === 1)
    to('the lease moves', { lease: left.lease - 1 }, (later) => controllers.moveLease(later, setup));
  for (const [index, { seen }] of world.agents.entries())
    if (left.killAgent && seen)
      to(`gateway ${index} is killed`, { killAgent: left.killAgent - 1 }, (later) => agents.kill(later, index, setup));
  return moves;
}

/** Makes delayed work due. */
export function wakeByTime(world: World): World {
  const wake = (controller: World['controllers'][number]) =>
    controller?.nextQueryAt !== undefined && controller.nextQueryAt <= world.now
      ? { ...controller, isAwake: true }
      : controller;
  return { ...world, controllers: world.controllers.map(wake) };
}

function editRef(world: World, ref: string, setup: Setup): World {
  const live = liveOf(world);
  const git = { ...live.spec.git, ...(live.spec.git.semver === undefined ? { ref } : { semver: ref }) };
  const spec = { ...live.spec, git };
  const after = edited(live, { spec }, { manager: 'people', now: world.now });
  const truth = { ...world.truth, edits: { ...world.truth.edits, [ref]: world.now } };
  return store({ ...world, truth }, after, setup, 'people');
}

/** Wipes the status; the earlier followed ref is kept only in the annotations. */
function wipe(world: World, setup: Setup): World {
  const live = liveOf(world);
  const status = Object.fromEntries(Object.keys(live.status ?? {}).map((key) => [key, null]));
  const { uid } = live.metadata;
  return store(world, withStatus(live, { metadata: { uid }, status }), setup, 'people');
}

const without = <T>(list: readonly T[] = [], at: number): T[] => list.filter((_, index) => index !== at);
const when = (isPossible: boolean, name: string, next: () => World): Move[] => (isPossible ? [[name, next]] : []);
