import { readArgoCd } from './argocd.ts';
import { readBitbucketEvent } from './bitbucket.ts';
import type { Delivery, DeliveryHeaders } from './delivery.ts';
import { readGeneric } from './generic.ts';
import { readGiteaEvent } from './gitea.ts';
import { readGitHubEvent, readGitHubRelease } from './github.ts';
import { readGitLabEvent } from './gitlab.ts';
import type { JsonObject } from './json-object.ts';
import { readKargo } from './kargo.ts';
import type { ReadSender } from './read-event.ts';

/**
 * Senders that name the event in a header: the header decides, whatever the body looks like. Gitea and Forgejo send
 * GitHub's header next to their own.
 */
const byHeader: ReadSender[] = [readGiteaEvent, readGitHubEvent, readGitLabEvent, readBitbucketEvent];

/** Shapes of bodies; where a body fits several, the first counts. */
const byShape: ReadSender[] = [readGitHubRelease, readArgoCd, readKargo, readGeneric];

const inOrder = [...byHeader, ...byShape];

/** Tells what an authentic delivery asks for. */
export function classify(headers: DeliveryHeaders, body: JsonObject): Delivery {
  for (const read of inOrder) {
    const delivery = read(headers, body);
    if (delivery) return delivery;
  }
  return { kind: 'nothing', reason: 'NoRef', source: 'generic' };
}
