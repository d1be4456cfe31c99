import * as v from 'valibot';
import { NO_REPOSITORY } from '../../shared/api/names.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import type { Reading } from './delivery.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { about, asksFor, looseText, madeAt, sender } from './read-event.ts';
import { recordedRepository } from './recorded-repository.ts';

const commit = v.object({ repoURL: looseText, tag: looseText, branch: looseText, id: looseText });

/** Skips other items in the list. */
const commits = v.array(v.fallback(commit, {}));

type Commit = v.InferOutput<typeof commits>[number];

/** Maximum number of repositories tried for one freight. */
const MAX_REPOSITORIES = 32;

/**
 * Reads a promotion of Kargo. Each repository of the freight requests its first tag. If none of its commits has a tag, it
 * requests the hash of the first commit from a branch, because that commit was promoted, and the branch may have changed.
 * If the freight has several repositories, the resource's own one applies. The commits can also be at the top level,
 * unless there is a top-level `ref`, which makes the body a push of a git server.
 * https://docs.kargo.io/user-guide/core-concepts/#freight
 */
export const readKargo = sender('kargo', (_headers, body) => {
  const atTop = fieldOf(body, 'ref') === undefined ? fieldOf(body, 'commits') : undefined;
  const promotedAt = promotionTime(fieldOf(body, 'promotion'));
  return readCommits(fieldOf(body, 'freight', 'commits'), promotedAt) ?? readCommits(atTop, promotedAt);
});

/** Checks whether a body has this shape, even without a ref, because freight can consist of images only. */
export function isKargo(body: JsonObject): boolean {
  return Array.isArray(fieldOf(body, 'freight', 'commits') ?? fieldOf(body, 'commits'));
}

/** Digits of a ULID, Crockford's base 32. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const PROMOTION = /\.([0-7][0-9a-hjkmnp-tv-z]{9})[0-9a-hjkmnp-tv-z]{16}\.\w+$/;

/**
 * Time of a promotion, from the ULID in its name (`<stage>.<ULID>.<freight>`), which begins with ten digits of the time.
 * https://github.com/ulid/spec. The dates of freight and of commits don't count, because old freight can be promoted.
 */
function promotionTime(name: unknown): number | undefined {
  const digits = typeof name === 'string' ? PROMOTION.exec(name)?.[1] : undefined;
  if (digits === undefined) return undefined;
  return [...digits].reduce((time, digit) => time * DIGITS.length + DIGITS.indexOf(digit), 0);
}

function readCommits(value: unknown, promotedAt: number | undefined): Reading | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = v.parse(commits, value);
  const byRepository = Map.groupBy(found, ({ repoURL }) => recordedRepository({ url: repoURL ?? undefined }));
  if (byRepository.size > 1) byRepository.delete(NO_REPOSITORY);
  const readings = [...byRepository].slice(0, MAX_REPOSITORIES).flatMap(([repository, ofRepository]) => {
    const ref = promotedRef(ofRepository);
    return ref === undefined ? [] : [about(repository, madeAt(promotedAt, asksFor(ref)))];
  });
  const [first, ...alternatives] = readings.filter((reading) => 'ref' in reading);
  if (!first) return readings[0];
  return alternatives.length === 0 ? first : { ...first, alternatives };
}

function promotedRef(found: readonly Commit[]): string | undefined {
  const ofBranch = ({ branch, id }: Commit) => branch && id && isCommitHash(id);
  return found.find(({ tag }) => tag)?.tag ?? found.find(ofBranch)?.id ?? undefined;
}
