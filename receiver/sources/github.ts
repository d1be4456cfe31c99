import * as v from 'valibot';
import { eventTime } from './event-time.ts';
import { readCreated, readPush, readRelease } from './git-host-events.ts';
import { fieldOf } from './json-object.ts';
import { asksFor, event, looseText, madeAt, nothing, type ReadEvent, readNamed, sender, text } from './read-event.ts';
import { repositoryOfGeneric, repositoryOfPush } from './repositories.ts';

const taggedPackage = v.nullish(
  v.object({ package_version: v.nullish(v.object({ release: v.nullish(v.object({ tag_name: text })) })) }),
);

/**
 * A published package requests the tag of its release. The tag of a container image isn't used, because it isn't a git
 * tag; `latest`, for example, is unrelated to the repository.
 */
const readPackage = event(
  v.object({ action: text, package: taggedPackage, registry_package: taggedPackage }),
  ({ action, package: current, registry_package: earlier }) => {
    if (action !== 'published') return nothing('NotPublished');
    return asksFor((earlier ?? current)?.package_version?.release?.tag_name || undefined);
  },
);

const publication = v.object({ action: v.literal('published'), release: v.object({ published_at: looseText }) });

/**
 * A release of GitHub. Its action `published` has the time of the event. `released` hasn't, because a prerelease keeps its
 * date when it becomes a release. The other servers with this event send the date of the tag or the draft instead.
 */
const readTimedRelease: ReadEvent = (body) => {
  const { success, output } = v.safeParse(publication, body);
  return madeAt(success ? eventTime(output.release.published_at) : undefined, readRelease(body));
};

const events = {
  ping: () => nothing('Ping'),
  push: readPush,
  create: readCreated,
  delete: () => nothing('Deleted'),
  release: readTimedRelease,
  package: readPackage,
  registry_package: readPackage,
};

/**
 * Reads a delivery with GitHub's event header, which alone determines the event.
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads
 */
export const readGitHubEvent = sender(
  'github',
  (headers, body) => readNamed(events, headers['x-github-event'], body),
  repositoryOfPush,
);

/** Reads a body in the shape of GitHub's release event, without its header. */
export const readGitHubRelease = sender(
  'github',
  (_headers, body) => (fieldOf(body, 'release', 'tag_name') === undefined ? undefined : readTimedRelease(body)),
  repositoryOfGeneric,
);
