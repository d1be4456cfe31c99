import { isArgoCd, readArgoCd } from './argocd.ts';
import { readBitbucketEvent } from './bitbucket.ts';
import type { Delivery, DeliveryHeaders } from './delivery.ts';
import { readGeneric } from './generic.ts';
import { readGiteaEvent } from './gitea.ts';
import { readGitHubEvent, readGitHubRelease } from './github.ts';
import { readGitLabEvent } from './gitlab.ts';
import type { JsonObject } from './json-object.ts';
import { isKargo, readKargo } from './kargo.ts';
import type { ReadSender } from './read-event.ts';

/**
 * Senders that name the event in a header: the header decides, whatever the body looks like. Gitea and Forgejo send
 * GitHub's header next to their own.
 */
const byHeader: ReadSender[] = [readGiteaEvent, readGitHubEvent, readGitLabEvent, readBitbucketEvent];

/** Shapes of bodies; where a body fits several, the first counts. */
const byShape: ReadSender[] = [readGitHubRelease, readArgoCd, readKargo, readGeneric];

const error =
  'no ref was found: the body has none at its top, has no shape of a known sender, and no header names an event';

const inOrder = [...byHeader, ...byShape];

/** Tells what an authentic delivery asks for. A body of nobody's shape without a ref is a broken template, as a rule. */
export function classify(headers: DeliveryHeaders, body: JsonObject): Delivery {
  for (const read of inOrder) {
    const delivery = read(headers, body);
    if (delivery) return delivery;
  }
  if (isArgoCd(body)) return { kind: 'nothing', reason: 'NoRef', source: 'argocd' };
  if (isKargo(body)) return { kind: 'nothing', reason: 'NoRef', source: 'kargo' };
  return { kind: 'invalid', reason: 'UnknownPayload', error, source: 'generic' };
}
