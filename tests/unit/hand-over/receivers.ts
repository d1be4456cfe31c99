import assert from 'node:assert/strict';
import { type Part, TIME_ANNOTATIONS } from '../../../receiver/annotations/annotations-of.ts';
import { REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { codedError } from '../../support/coded-error.ts';
import { answerOf } from './api-server.ts';
import { checkAccepted, checkStored, isForeign } from './invariants.ts';
import { store } from './store.ts';
import { type Delivery, liveOf, type Receiver, replaceAt, type Setup, type Waiter, type World } from './world.ts';

const target = { namespace: 'ns', name: 'app' };

/*
 * The queue of `receiver/annotations/annotation-queue.ts`, whose timers and promises can't run step by step: each resource
 * has one patch in progress, and later deliveries wait for the next one. The real code makes the patch, and handles the
 * response.
 */

/** Receives an authentic delivery from a known sender. */
export function arrive(world: World, index: number, delivery: Delivery, { parts }: Setup): World {
  const { now } = world;
  const receiver = world.receivers[index] as Receiver;
  const requestId = `${delivery.ref}@${now}`;
  const annotations = parts.annotationsOf({ ...delivery, source: 'github', requestId }, new Date(now));
  const id = annotations[REQUEST_ANNOTATIONS.requestId] ?? requestId;
  const waiter: Waiter = { delivery, at: now, id, annotations, lost: [] };
  return withReceiver(world, index, { ...receiver, waiting: [...receiver.waiting, waiter] });
}

/** Puts all waiting deliveries into one patch, up to the first one about another repository. */
export function send(world: World, index: number, { parts }: Setup): World {
  const receiver = world.receivers[index] as Receiver;
  const [repository] = receiver.waiting.map(({ annotations }) => parts.repositoryOf(annotations));
  const other = receiver.waiting.findIndex(({ annotations }) => parts.repositoryOf(annotations) !== repository);
  const each = receiver.waiting.slice(0, other === -1 ? undefined : other).map((waiter) => ({
    waiter,
    annotations: waiter.lost.reduce(parts.withoutPart, waiter.annotations),
  }));
  const merged = parts.mergeAnnotations(each.map(({ annotations }) => annotations));
  return withReceiver(world, index, { ...receiver, sent: { parts: each, merged } });
}

/** The patch arrives; the response may be lost. A receiver that was killed in the meantime doesn't respond. */
export function land(world: World, index: number, setup: Setup, { isHeard = true } = {}): World {
  const { parts } = setup;
  const receiver = world.receivers[index] as Receiver;
  const { sent } = receiver;
  if (!sent) return world;
  const after = answerOf(() => parts.annotated(liveOf(world), sent.merged, world.now));
  if (after instanceof ApiError)
    return isHeard ? refuse(world, index, after, setup) : withReceiver(world, index, { ...receiver, sent: undefined });
  const noted = noteStored(store(world, after, setup), receiver);
  if (!isHeard) return withReceiver(noted, index, { ...receiver, sent: undefined });
  return receiver.waiting.reduce(
    (before, waiter) => {
      const part = sent.parts.find((each) => each.waiter.id === waiter.id);
      return part ? answer(before, index, waiter) : before;
    },
    withReceiver(noted, index, { ...receiver, sent: undefined }),
  );
}

/** The patch is lost. */
export function lose(world: World, index: number, setup: Setup): World {
  return refuse(world, index, codedError('ECONNRESET', 'lost'), setup);
}

/** Ends the process: all senders see a broken connection and retry. Sent patches may still arrive. */
export function kill(world: World, index: number): World {
  const { waiting, sent } = world.receivers[index] as Receiver;
  const unanswered = [...world.unanswered, ...waiting.map(({ delivery }) => delivery)];
  return withReceiver({ ...world, unanswered }, index, { waiting: [], sent });
}

/** Handles the response to a failed patch. */
function refuse(world: World, index: number, error: unknown, { parts }: Setup): World {
  const receiver = world.receivers[index] as Receiver;
  const failure = parts.judgeFailure(error, target);
  const after = withReceiver(world, index, { ...receiver, sent: undefined });
  if (failure.kind === 'superseded') {
    return receiver.waiting.reduce((before, waiter) => {
      const part = receiver.sent?.parts.find((each) => each.waiter.id === waiter.id);
      return part
        ? takeOut(before, index, { waiter, annotations: part.annotations, part: failure.part, parts })
        : before;
    }, after);
  }
  if (failure.kind === 'foreign') {
    const refused = receiver.sent?.parts.map(({ waiter }) => waiter) ?? [];
    for (const { delivery } of refused)
      assert.ok(isForeign(delivery), `${delivery.ref} is refused with a delivery about another repository`);
    const waiting = receiver.waiting.filter(({ id }) => !refused.some((waiter) => waiter.id === id));
    return withReceiver(world, index, { ...receiver, waiting, sent: undefined });
  }
  if (failure.kind === 'retry') return after;
  throw new Error(`a receiver gives up: ${failure.kind}`);
}

interface TakenOut {
  waiter: Waiter;
  annotations: Waiter['annotations'];
  part: Part;
  parts: Setup['parts'];
}

function takeOut(world: World, index: number, { waiter, annotations, part, parts }: TakenOut): World {
  const rest = parts.withoutPart(annotations, part);
  if (Object.keys(rest).length === 0) return answer(world, index, waiter);
  const receiver = world.receivers[index] as Receiver;
  const waiting = receiver.waiting.map((each) =>
    each.id === waiter.id && !each.lost.includes(part) ? { ...each, lost: [...each.lost, part] } : each,
  );
  return withReceiver(world, index, { ...receiver, waiting });
}

/** Sends 202 to the sender. */
function answer(world: World, index: number, waiter: Waiter): World {
  const receiver = world.receivers[index] as Receiver;
  const waiting = receiver.waiting.filter(({ id }) => id !== waiter.id);
  checkAccepted(world, waiter);
  const { accepted } = world.truth;
  const newest = Math.max(accepted[waiter.delivery.kind] ?? 0, waiter.at);
  const truth = { ...world.truth, accepted: { ...accepted, [waiter.delivery.kind]: newest } };
  return withReceiver({ ...world, truth }, index, { ...receiver, waiting });
}

/** Records the stored kinds with their times. */
function noteStored(world: World, { sent }: Receiver): World {
  const { annotations = {} } = liveOf(world).metadata;
  let { asked, stored } = world.truth;
  for (const { waiter } of sent?.parts ?? []) {
    const { id, delivery, at } = waiter;
    if (Date.parse(annotations[TIME_ANNOTATIONS[delivery.kind]] ?? '') !== at) continue;
    checkStored(world, waiter);
    if (delivery.kind === 'request') asked = { ...asked, [id]: at };
    stored = { ...stored, [delivery.kind]: Math.max(stored[delivery.kind] ?? 0, at) };
  }
  return { ...world, truth: { ...world.truth, asked, stored } };
}

const withReceiver = (world: World, index: number, receiver: Receiver): World => ({
  ...world,
  receivers: replaceAt(world.receivers, index, receiver),
});
