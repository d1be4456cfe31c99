import * as v from 'valibot';
import { NO_REPOSITORY } from '../../shared/api/names.ts';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import type { Reading } from './delivery.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { about, asksFor, looseText, sender } from './read-event.ts';
import { recordedRepository } from './recorded-repository.ts';

const commit = v.object({ repoURL: looseText, tag: looseText, branch: looseText, id: looseText });

/** Whatever else is in the list is passed over. */
const commits = v.array(v.fallback(commit, {}));

type Commit = v.InferOutput<typeof commits>[number];

/** Repositories of one freight that are tried. */
const MAX_REPOSITORIES = 32;

/**
 * A promotion of Kargo. Each repository of the freight asks for its first tag. If none of its commits has a tag, it asks
 * for the hash of the first commit from a branch, because that commit was promoted, and the branch may have moved on. If
 * the freight has several repositories, the resource's own one counts. The commits can also be at the top of the body,
 * unless a `ref` is next to them: then the body is the push of a git server.
 * https://docs.kargo.io/user-guide/core-concepts/#freight
 */
export const readKargo = sender('kargo', (_headers, body) => {
  const atTop = fieldOf(body, 'ref') === undefined ? fieldOf(body, 'commits') : undefined;
  return readCommits(fieldOf(body, 'freight', 'commits')) ?? readCommits(atTop);
});

/** Whether a body is in this shape, with a ref or without: freight may hold images alone. */
export function isKargo(body: JsonObject): boolean {
  return Array.isArray(fieldOf(body, 'freight', 'commits') ?? fieldOf(body, 'commits'));
}

function readCommits(value: unknown): Reading | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = v.parse(commits, value);
  const byRepository = Map.groupBy(found, ({ repoURL }) => recordedRepository({ url: repoURL ?? undefined }));
  if (byRepository.size > 1) byRepository.delete(NO_REPOSITORY);
  const readings = [...byRepository].slice(0, MAX_REPOSITORIES).flatMap(([repository, ofRepository]) => {
    const ref = promotedRef(ofRepository);
    return ref === undefined ? [] : [about(repository, asksFor(ref))];
  });
  const [first, ...alternatives] = readings.filter((reading) => 'ref' in reading);
  if (!first) return readings[0];
  return alternatives.length === 0 ? first : { ...first, alternatives };
}

function promotedRef(found: readonly Commit[]): string | undefined {
  const ofBranch = ({ branch, id }: Commit) => branch && id && isCommitHash(id);
  return found.find(({ tag }) => tag)?.tag ?? found.find(ofBranch)?.id ?? undefined;
}
