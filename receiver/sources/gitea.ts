import { readCreated, readPush, readRelease } from './git-host-events.ts';
import { nothing, readNamed, sender } from './read-event.ts';
import { repositoryOfPush } from './repositories.ts';

const events = {
  push: readPush,
  create: readCreated,
  delete: () => nothing('Deleted'),
  release: readRelease,
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
