import assert from 'node:assert/strict';
import semver from 'semver';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';

/** Checks that what is followed for a range is in the range, and isn't older than before for the same range. */
export function checkRangeStep(before: GatewaySyncStatus, after: GatewaySyncStatus): void {
  const { target } = after;
  if (!target?.range) return;
  assert.ok(semver.satisfies(target.ref, target.range), `${target.ref} isn't in ${target.range}`);
  if (before.target?.range !== target.range) return;
  assert.ok(semver.compare(target.ref, before.target.ref) >= 0, `${target.ref} after ${before.target.ref}`);
}

interface Rest {
  status: GatewaySyncStatus;
  /** Commits by the names of tags. */
  tags: ReadonlyMap<string, string>;
  range: string;
}

/** Checks what is followed in the end: the newest tag in the range, or a newer one that was deleted. */
export function checkRangeRest({ status, tags, range }: Rest): void {
  const versions = [...tags.keys()].filter((name) => semver.valid(name));
  const newest = semver.maxSatisfying(versions, range);
  if (status.target?.range !== range) {
    assert.equal(newest, null, `${newest} isn't followed`);
    return;
  }
  const { ref } = status.target;
  if (newest !== null) assert.ok(semver.compare(ref, newest) >= 0, `${ref}, although there is ${newest}`);
  const commit = tags.get(ref);
  if (commit !== undefined) assert.equal(status.lastSyncCommit, commit);
  else assert.ok(newest === null || semver.compare(ref, newest) > 0, `${ref} doesn't exist, and ${newest} does`);
}
