import type { RequestSource } from '../../shared/api/names.ts';
import type { Delivery } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

/** The release event of GitHub, which Gitea, Forgejo and Gogs share; undefined where the body names no release. */
export function readRelease(body: JsonObject, source: RequestSource): Delivery | undefined {
  const tag = fieldOf(body, 'release', 'tag_name');
  if (tag === undefined) return undefined;
  const action = fieldOf(body, 'action');
  // A hand-made payload may leave the action out; git hosts never do.
  if (action !== undefined && action !== 'published' && action !== 'released') {
    return { kind: 'nothing', reason: 'NotPublished', source };
  }
  if (fieldOf(body, 'release', 'draft') === true) return { kind: 'nothing', reason: 'Draft', source };
  return extractRef(tag, source);
}
