import { type Candidate, chooseCandidates } from './choose-candidates.ts';
import type { Delivery, DeliveryHeaders, NothingReason } from './delivery.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

/**
 * A delivery with Bitbucket's event header, of the cloud or the data center; undefined without it. One push may change
 * several refs.
 * https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#Push,
 * https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html#Eventpayload-Push
 */
export function readBitbucketEvent(headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  switch (headers['x-event-key']) {
    case undefined:
    case '':
      return undefined;
    case 'diagnostics:ping':
      return nothing('Ping');
    case 'repo:push':
      return readChanges(fieldOf(body, 'push', 'changes'), cloudCandidate);
    case 'repo:refs_changed':
      return readChanges(fieldOf(body, 'changes'), dataCenterCandidate);
    default:
      return nothing('EventIgnored');
  }
}

function readChanges(changes: unknown, candidateOf: (change: unknown) => Candidate | NothingReason): Delivery {
  if (!Array.isArray(changes) || changes.length === 0) return nothing('NoRef');
  const read = changes.map(candidateOf);
  const candidates = read.filter((each) => typeof each !== 'string');
  if (candidates.length > 0) return chooseCandidates(candidates, 'bitbucket');
  // Nothing remains: the reason of the first change stands for all.
  const [reason] = read.filter((each) => typeof each === 'string');
  return nothing(reason ?? 'NoRef');
}

/** `new` is null where the ref was deleted; its target carries the time of the commit, an annotated tag its own. */
function cloudCandidate(change: unknown): Candidate | NothingReason {
  const after = fieldOf(change, 'new');
  if (after === undefined) return fieldOf(change, 'old') === undefined ? 'NoRef' : 'Deleted';
  const name = fieldOf(after, 'name');
  const time = timeOf(fieldOf(after, 'date') ?? fieldOf(after, 'target', 'date'));
  const type = fieldOf(after, 'type');
  if (type !== 'branch' && type !== 'tag') return 'NotABranchOrTag';
  const folder = type === 'branch' ? 'refs/heads/' : 'refs/tags/';
  return { ref: typeof name === 'string' ? folder + name : name, time };
}

function dataCenterCandidate(change: unknown): Candidate | NothingReason {
  if (fieldOf(change, 'type') === 'DELETE') return 'Deleted';
  const ref = fieldOf(change, 'ref', 'id') ?? fieldOf(change, 'refId');
  if (ref === undefined) return 'NoRef';
  if (typeof ref === 'string' && !/^refs\/(heads|tags)\//.test(ref)) return 'NotABranchOrTag';
  return { ref, time: timeOf(fieldOf(change, 'toCommit', 'committerTimestamp')) };
}

/** Milliseconds since 1970 of what the host gives, or 0. */
function timeOf(value: unknown): number {
  const time = typeof value === 'string' ? Date.parse(value) : Number(value);
  return Number.isFinite(time) ? time : 0;
}

function nothing(reason: NothingReason): Delivery {
  return { kind: 'nothing', reason, source: 'bitbucket' };
}
