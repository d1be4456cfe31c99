import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import type { Delivery, DeliveryHeaders } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

/**
 * A promotion of Kargo: the tag of the freight's first commit that has one, else the hash of the first that came from
 * a branch, since what was promoted is that commit and not what the branch holds by now. The commits may also stand at
 * the top of the body, unless a `ref` stands beside them: that is a git host's push, whose commits are another thing.
 * https://docs.kargo.io/user-guide/core-concepts/#freight
 */
export function readKargo(_headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  const fromFreight = promotedRef(fieldOf(body, 'freight', 'commits'));
  if (fromFreight !== undefined) return extractRef(fromFreight, 'kargo');
  return fieldOf(body, 'ref') === undefined ? extractRef(promotedRef(fieldOf(body, 'commits')), 'kargo') : undefined;
}

function promotedRef(commits: unknown): string | undefined {
  if (!Array.isArray(commits)) return undefined;
  return firstOf(commits, tagOf) ?? firstOf(commits, branchCommitOf);
}

function firstOf(commits: readonly unknown[], read: (commit: unknown) => string | undefined): string | undefined {
  for (const commit of commits) {
    const ref = read(commit);
    if (ref !== undefined) return ref;
  }
  return undefined;
}

function tagOf(commit: unknown): string | undefined {
  const tag = fieldOf(commit, 'tag');
  return typeof tag === 'string' && tag !== '' ? tag : undefined;
}

function branchCommitOf(commit: unknown): string | undefined {
  const [branch, id] = [fieldOf(commit, 'branch'), fieldOf(commit, 'id')];
  return typeof branch === 'string' && branch !== '' && typeof id === 'string' && isCommitHash(id) ? id : undefined;
}
