import { isSameFingerprint } from './manifest.ts';
import type { LiveFile, PlanInput } from './plan-input.ts';

/**
 * What the agent left at a path: what it delivers, what it had delivered before, an empty file that something should
 * have come over, or nothing itself.
 */
export type Trace = 'delivered' | 'earlier' | 'unfinished' | 'none';

type Known = Pick<PlanInput, 'manifest' | 'keptNames'>;

/** Tells by content who wrote a file. Only after a sync that was cut off it can be any but the first and the last. */
export function traceOf(path: string, { sha256, fingerprint }: LiveFile, { manifest, keptNames }: Known): Trace {
  const record = manifest.files.get(path);
  if (!record || record.found) return 'none';
  const isPending = manifest.pending.has(path);
  // What was kept and is not there any more may have come back to the path, with whatever content.
  const isGone = record.kept !== undefined && keptNames?.has(record.kept.name) === false;
  if (isPending && !record.wasOurs && isGone && !isSameFingerprint(fingerprint, record.fingerprint)) return 'none';
  if (sha256 === record.sha256) return 'delivered';
  if (!isPending) return 'none';
  if (sha256 === record.earlier) return 'earlier';
  return fingerprint.size === 0 ? 'unfinished' : 'none';
}

/**
 * Whether a path is the agent's, whatever is there now: what somebody changes there is drift. While a file comes for
 * the first time, or goes, it is not: then only what the agent wrote is its own.
 */
export function isHeld(path: string, { manifest }: Known): boolean {
  const record = manifest.files.get(path);
  if (!record || record.found) return false;
  return !manifest.pending.has(path) || record.wasOurs === true;
}

/** Whether a file is the agent's. */
export function isOurs(path: string, live: LiveFile, known: Known): boolean {
  return isHeld(path, known) || traceOf(path, live, known) !== 'none';
}
