import * as v from 'valibot';
import { readCreated, readPush, readRelease } from './git-host-events.ts';
import { fieldOf } from './json-object.ts';
import { asksFor, event, nothing, readNamed, sender, text } from './read-event.ts';
import { repositoryOfGeneric, repositoryOfPush } from './repositories.ts';

const taggedPackage = v.nullish(
  v.object({ package_version: v.nullish(v.object({ release: v.nullish(v.object({ tag_name: text })) })) }),
);

/**
 * A published package asks for the tag of its release. The tag of a container image is none of git's: an image that is
 * pushed as `latest` says nothing of the repository.
 */
const readPackage = event(
  v.object({ action: text, package: taggedPackage, registry_package: taggedPackage }),
  ({ action, package: current, registry_package: earlier }) => {
    if (action !== 'published') return nothing('NotPublished');
    return asksFor((earlier ?? current)?.package_version?.release?.tag_name || undefined);
  },
);

const events = {
  ping: () => nothing('Ping'),
  push: readPush,
  create: readCreated,
  delete: () => nothing('Deleted'),
  release: readRelease,
  package: readPackage,
  registry_package: readPackage,
};

/**
 * A delivery with GitHub's event header, which alone decides what it is.
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads
 */
export const readGitHubEvent = sender(
  'github',
  (headers, body) => readNamed(events, headers['x-github-event'], body),
  repositoryOfPush,
);

/** A body in the shape of GitHub's release event, without its header. */
export const readGitHubRelease = sender(
  'github',
  (_headers, body) => (fieldOf(body, 'release', 'tag_name') === undefined ? undefined : readRelease(body)),
  repositoryOfGeneric,
);
