import { isArgoCd, readArgoCd } from './argocd.ts';
import { readAzureDevOps } from './azure-devops.ts';
import { readBitbucketEvent } from './bitbucket.ts';
import type { Classified, DeliveryHeaders } from './delivery.ts';
import { readGeneric } from './generic.ts';
import { readGiteaEvent } from './gitea.ts';
import { readGitHubEvent, readGitHubRelease } from './github.ts';
import { readGitLabEvent } from './gitlab.ts';
import type { JsonObject } from './json-object.ts';
import { isKargo, readKargo } from './kargo.ts';
import type { ReadSender } from './read-event.ts';

/**
 * Senders that specify the event in a header, which takes precedence over the body. Gitea and Forgejo come first because
 * they also send GitHub's header.
 */
const byHeader: ReadSender[] = [readGiteaEvent, readGitHubEvent, readGitLabEvent, readBitbucketEvent];

/** Shapes of bodies; if a body matches several, the first applies. */
const byShape: ReadSender[] = [readAzureDevOps, readGitHubRelease, readArgoCd, readKargo, readGeneric];

const error =
  "no ref found; the body has no top-level ref and doesn't match a known sender, and no header specifies an event";

const inOrder = [...byHeader, ...byShape];

/** Classifies an authentic delivery. An unknown shape without a ref usually means a broken template. */
export function classify(headers: DeliveryHeaders, body: JsonObject): Classified {
  for (const read of inOrder) {
    const delivery = read(headers, body);
    if (delivery) return delivery;
  }
  if (isArgoCd(body)) return { kind: 'nothing', reason: 'NoRef', source: 'argocd' };
  if (isKargo(body)) return { kind: 'nothing', reason: 'NoRef', source: 'kargo' };
  return { kind: 'invalid', reason: 'UnknownPayload', error, source: 'generic' };
}
