import { readCreated, readPush, readRelease } from './git-host-events.ts';
import { fieldOf } from './json-object.ts';
import { nothing, type ReadEvent, readNamed, sender } from './read-event.ts';
import { repositoryOfPush } from './repositories.ts';

/**
 * Only GitHub's releases have a `node_id`. The signature doesn't cover the header, so a copy of such a release could
 * otherwise lose its time, and replace a newer one.
 */
const readOwnRelease: ReadEvent = (body) =>
  fieldOf(body, 'release', 'node_id') === undefined ? readRelease(body) : nothing('OtherEvent');

const events = {
  push: readPush,
  create: readCreated,
  delete: () => nothing('Deleted'),
  release: readOwnRelease,
};

/**
 * Reads a delivery of Gitea, Forgejo, or Gogs, which send GitHub's events with their own headers. The first two also
 * send GitHub's header, so they must be tried before GitHub.
 * https://docs.gitea.com/usage/repository/webhooks, https://forgejo.org/docs/latest/user/webhooks/,
 * https://github.com/gogs/docs-api/blob/master/Repositories/Webhooks.md
 */
export const readGiteaEvent = sender(
  'gitea',
  (headers, body) =>
    readNamed(events, headers['x-forgejo-event'] || headers['x-gitea-event'] || headers['x-gogs-event'], body),
  repositoryOfPush,
);
