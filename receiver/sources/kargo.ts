import * as v from 'valibot';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { asksFor, looseText, sender } from './read-event.ts';

/** Whatever else is in the list is passed over. */
const commits = v.array(v.fallback(v.object({ tag: looseText, branch: looseText, id: looseText }), {}));

/**
 * A promotion of Kargo: the tag of the freight's first commit that has one, else the hash of the first that came from
 * a branch, since what was promoted is that commit and not what the branch holds by now. The commits may also be at
 * the top of the body, unless there is a `ref` next to them: that is a git host's push, whose commits are another thing.
 * https://docs.kargo.io/user-guide/core-concepts/#freight
 */
export const readKargo = sender('kargo', (_headers, body) => {
  const ofFreight = promotedRef(fieldOf(body, 'freight', 'commits'));
  if (ofFreight !== undefined) return asksFor(ofFreight);
  const atTop = fieldOf(body, 'ref') === undefined ? promotedRef(fieldOf(body, 'commits')) : undefined;
  return atTop === undefined ? undefined : asksFor(atTop);
});

/** Whether a body is in this shape, with a ref or without: freight may hold images alone. */
export function isKargo(body: JsonObject): boolean {
  return Array.isArray(fieldOf(body, 'freight', 'commits') ?? fieldOf(body, 'commits'));
}

function promotedRef(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = v.parse(commits, value);
  const ofBranch = ({ branch, id }: (typeof found)[number]) => branch && id && isCommitHash(id);
  return found.find(({ tag }) => tag)?.tag ?? found.find(ofBranch)?.id ?? undefined;
}
