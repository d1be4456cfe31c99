import * as v from 'valibot';
import type { DeliveryHeaders, NothingReason, Reading } from './delivery.ts';
import { eventTime } from './event-time.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { event, looseText, madeAt, nothing, readNamed, sender, text } from './read-event.ts';
import { repositoryOfBitbucket } from './repositories.ts';
import { type Candidate, newest } from './several-refs.ts';

/** `new` is null if the ref was deleted. Its target has the time of the commit; an annotated tag has another time. */
const cloudChange = v.object({
  old: v.nullish(v.object({})),
  new: v.nullish(
    v.object({ type: text, name: text, date: looseText, target: v.nullish(v.object({ date: looseText })) }),
  ),
});

/** https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#Push */
const readCloudPush = event(
  v.object({ push: v.nullish(v.object({ changes: v.nullish(v.array(cloudChange)) })) }),
  ({ push }) => newest((push?.changes ?? []).map(readCloudChange)),
);

function readCloudChange({ old, new: after }: v.InferOutput<typeof cloudChange>): Candidate | NothingReason {
  if (!after) return old ? 'Deleted' : 'NoRef';
  const { type, name, date, target } = after;
  if (type !== 'branch' && type !== 'tag') return 'NotABranchOrTag';
  const prefix = type === 'branch' ? 'refs/heads/' : 'refs/tags/';
  return name ? { ref: prefix + name, time: Date.parse(date ?? target?.date ?? '') || 0 } : 'NoRef';
}

const dataCenterChange = v.object({
  type: text,
  refId: text,
  ref: v.nullish(v.object({ id: text })),
  toCommit: v.nullish(v.object({ committerTimestamp: v.fallback(v.nullish(v.number()), undefined) })),
});

/** https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html#Eventpayload-Push */
const readDataCenterPush = event(
  v.object({ date: looseText, changes: v.nullish(v.array(dataCenterChange)) }),
  ({ date, changes }) => madeAt(eventTime(date), newest((changes ?? []).map(readDataCenterChange))),
);

function readDataCenterChange(change: v.InferOutput<typeof dataCenterChange>): Candidate | NothingReason {
  const ref = change.ref?.id ?? change.refId;
  if (change.type === 'DELETE') return 'Deleted';
  if (!ref) return 'NoRef';
  return /^refs\/(?:heads|tags)\//.test(ref)
    ? { ref, time: change.toCommit?.committerTimestamp ?? 0 }
    : 'NotABranchOrTag';
}

const events = {
  'diagnostics:ping': () => nothing('Ping'),
  'repo:push': readCloudPush,
  'repo:refs_changed': readDataCenterPush,
  // A mirror has the refs of a push.
  'mirror:repo_synchronized': readDataCenterPush,
};

/** Reads a delivery with Bitbucket's event header, from Cloud or Data Center. One push can change several refs. */
export const readBitbucketEvent = sender('bitbucket', readBitbucket, repositoryOfBitbucket);

/** The body of Data Center also names the event. A copy can have another header, which the signature doesn't cover. */
function readBitbucket({ 'x-event-key': name }: DeliveryHeaders, body: JsonObject): Reading | undefined {
  const signedName = fieldOf(body, 'eventKey') ?? name;
  return name && signedName !== name ? nothing('OtherEvent') : readNamed(events, name, body);
}
