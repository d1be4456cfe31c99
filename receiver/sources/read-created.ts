import type { RequestSource } from '../../shared/api/names.ts';
import type { Delivery } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

const folders: Record<string, string> = { branch: 'refs/heads/', tag: 'refs/tags/' };

/** The create event of GitHub, Gitea, Forgejo and Gogs: a short name, and whether it is a branch's or a tag's. */
export function readCreated(body: JsonObject, source: RequestSource): Delivery {
  const ref = fieldOf(body, 'ref');
  if (ref === undefined) return { kind: 'nothing', reason: 'NoRef', source };
  const type = fieldOf(body, 'ref_type');
  const folder = typeof type === 'string' && Object.hasOwn(folders, type) ? folders[type] : undefined;
  if (folder === undefined) return { kind: 'nothing', reason: 'NotABranchOrTag', source };
  const isShort = typeof ref === 'string' && !ref.startsWith(folder);
  return extractRef(isShort ? folder + ref : ref, source) ?? { kind: 'nothing', reason: 'NoRef', source };
}
