import { parse } from 'semver';
import type { NothingReason, Reading } from './delivery.ts';
import { asksFor, nothing } from './read-event.ts';

/** One of several refs in a delivery, with its full name and time (ms; 0 if unknown). */
export interface Candidate {
  ref: string;
  time: number;
}

/**
 * Combines several refs into at most one request, for the newest tag, and one push, for the newest branch. If times are
 * equal, the tag with the highest version is used, and otherwise the first one. No sync is lost, because the controller
 * queries the tracked ref after a push to any branch. Invalid ref names are skipped if another one is valid. Without a
 * ref, the reason of the first change applies.
 */
export function newest(changes: readonly (Candidate | NothingReason)[]): Reading {
  const candidates = changes.filter((each) => typeof each !== 'string').map(withVersion);
  const readings = candidates.sort(newestFirst).map(({ ref }) => asksFor(ref));
  const request = readings.find((each) => each.kind === 'request');
  const push = readings.find((each) => each.kind === 'push');
  if (request && push) return { ...request, pushedRef: push.ref };
  const reason = changes.find((each) => typeof each === 'string');
  return request ?? push ?? readings[0] ?? nothing(reason ?? 'NoRef');
}

/** Reads the version of a tag, which can have a prefix, as in `site-v1.2.3`. */
function withVersion(candidate: Candidate) {
  const name = candidate.ref.replace(/^refs\/tags\//, '');
  const plain = parse(name);
  return { ...candidate, version: plain ?? parse(name.replace(/^\D+/, '')), isPrefixed: plain === null };
}

type Versioned = ReturnType<typeof withVersion>;

/** Tags with a prefix come after those without, and then the tags that aren't versions. */
function newestFirst(one: Versioned, other: Versioned): number {
  if (one.time !== other.time) return other.time - one.time;
  if (one.version && other.version && one.isPrefixed === other.isPrefixed) return other.version.compare(one.version);
  if (one.version && other.version) return Number(one.isPrefixed) - Number(other.isPrefixed);
  return Number(other.version !== null) - Number(one.version !== null);
}
