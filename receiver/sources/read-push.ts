import type { RequestSource } from '../../shared/api/names.ts';
import type { Delivery } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { isDeletion } from './is-deletion.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

/** The push event of GitHub, which GitLab, Gitea, Forgejo and Gogs share: a full ref name, and what it is afterwards. */
export function readPush(body: JsonObject, source: RequestSource): Delivery {
  const ref = fieldOf(body, 'ref');
  if (isDeletion(body)) return { kind: 'nothing', reason: 'Deleted', source };
  if (typeof ref === 'string' && !/^refs\/(heads|tags)\//.test(ref)) {
    return { kind: 'nothing', reason: 'NotABranchOrTag', source };
  }
  return extractRef(ref, source) ?? { kind: 'nothing', reason: 'NoRef', source };
}
