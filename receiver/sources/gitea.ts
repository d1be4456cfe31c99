import type { Delivery, DeliveryHeaders, NothingReason } from './delivery.ts';
import type { JsonObject } from './json-object.ts';
import { readCreated } from './read-created.ts';
import { readPush } from './read-push.ts';
import { readRelease } from './read-release.ts';

/**
 * A delivery of Gitea, Forgejo or Gogs, which send the events of GitHub under headers of their own; undefined without
 * one of these. The first two send GitHub's header as well, so they must be looked for before GitHub is.
 * https://docs.gitea.com/usage/repository/webhooks, https://forgejo.org/docs/latest/user/webhooks/,
 * https://github.com/gogs/docs-api/blob/master/Repositories/Webhooks.md
 */
export function readGiteaEvent(headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  switch (headers['x-forgejo-event'] || headers['x-gitea-event'] || headers['x-gogs-event'] || undefined) {
    case undefined:
      return undefined;
    case 'push':
      return readPush(body, 'gitea');
    case 'create':
      return readCreated(body, 'gitea');
    case 'delete':
      return nothing('Deleted');
    case 'release':
      return readRelease(body, 'gitea') ?? nothing('NoRef');
    default:
      return nothing('EventIgnored');
  }
}

function nothing(reason: NothingReason): Delivery {
  return { kind: 'nothing', reason, source: 'gitea' };
}
