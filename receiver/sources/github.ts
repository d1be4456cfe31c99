import type { Delivery, DeliveryHeaders, NothingReason } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { readCreated } from './read-created.ts';
import { readPush } from './read-push.ts';
import { readRelease } from './read-release.ts';

/**
 * A delivery with GitHub's event header, which alone decides what it is; undefined without that header.
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads
 */
export function readGitHubEvent(headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  switch (headers['x-github-event']) {
    case undefined:
    case '':
      return undefined;
    case 'ping':
      return nothing('Ping');
    case 'push':
      return readPush(body, 'github');
    case 'create':
      return readCreated(body, 'github');
    case 'delete':
      return nothing('Deleted');
    case 'release':
      return readRelease(body, 'github') ?? nothing('NoRef');
    case 'registry_package':
    case 'package':
      return readPackage(body);
    default:
      return nothing('EventIgnored');
  }
}

/** A body in the shape of GitHub's release event; undefined where it names no release. */
export function readGitHubRelease(_headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  return readRelease(body, 'github');
}

/** A published package: the tag of its release, or the tag of the container image. */
function readPackage(body: JsonObject): Delivery {
  if (fieldOf(body, 'action') !== 'published') return nothing('NotPublished');
  const version = fieldOf(fieldOf(body, 'registry_package') ?? fieldOf(body, 'package'), 'package_version');
  const tag = fieldOf(version, 'release', 'tag_name') ?? fieldOf(version, 'container_metadata', 'tag', 'name');
  // An image that was pushed without a tag has an empty one.
  return (tag === '' ? undefined : extractRef(tag, 'github')) ?? nothing('NoRef');
}

function nothing(reason: NothingReason): Delivery {
  return { kind: 'nothing', reason, source: 'github' };
}
