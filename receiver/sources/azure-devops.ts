import * as v from 'valibot';
import type { NothingReason, Reading } from './delivery.ts';
import { eventTime } from './event-time.ts';
import { isDeletion } from './git-host-events.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { event, looseText, madeAt, nothing, sender, text } from './read-event.ts';
import { repositoryOfAzureDevOps } from './repositories.ts';
import { type Candidate, newest } from './several-refs.ts';

const refUpdate = v.object({ name: text, newObjectId: text });

const pushed = v.object({ date: looseText, refUpdates: v.nullish(v.array(refUpdate)) });

/** https://learn.microsoft.com/azure/devops/service-hooks/events#code-pushed */
const readGitPush = event(
  v.object({ createdDate: looseText, resource: v.nullish(pushed) }),
  ({ createdDate, resource }) =>
    madeAt(
      eventTime(resource?.date) ?? eventTime(createdDate),
      newest((resource?.refUpdates ?? []).map(readRefUpdate)),
    ),
);

/** The payload contains no times for refs. */
function readRefUpdate({ name, newObjectId }: v.InferOutput<typeof refUpdate>): Candidate | NothingReason {
  if (isDeletion({ after: newObjectId })) return 'Deleted';
  if (!name) return 'NoRef';
  return /^refs\/(?:heads|tags)\//.test(name) ? { ref: name, time: 0 } : 'NotABranchOrTag';
}

/**
 * A delivery of a service hook of Azure DevOps. It has no event header: the body names the event and the service that
 * published it.
 */
export const readAzureDevOps = sender('azuredevops', (_headers, body) => readEvent(body), repositoryOfAzureDevOps);

function readEvent(body: JsonObject): Reading | undefined {
  const eventType = fieldOf(body, 'eventType');
  if (typeof eventType !== 'string' || typeof fieldOf(body, 'publisherId') !== 'string') return undefined;
  return eventType === 'git.push' ? readGitPush(body) : nothing('EventIgnored');
}
