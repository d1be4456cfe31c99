import type { OwnedFile } from './manifest.ts';
import type { DesiredTree, LiveFile, PlanInput } from './plan-input.ts';
import { isOurs, traceOf } from './trace-file.ts';

/**
 * Files that stay although nothing asks for them are not compared with anything, and the end of a sync makes them the
 * agent's for good. So those that an earlier sync was cut off at are judged here. What it did not finish, and what is
 * not the agent's, does not stay owned: it is planned for like any other that nothing asks for.
 */
export function settleKept({ desired, ...input }: PlanInput): { desired: DesiredTree; corrected: OwnedFile[] } {
  const kept = new Set(desired.kept);
  const corrected: OwnedFile[] = [];
  for (const path of input.manifest.pending) {
    const record = input.manifest.files.get(path);
    if (!record || !kept.has(path)) continue;
    const live = input.live.get(path);
    const trace = live?.kind === 'file' && isOurs(path, live, input) ? traceOf(path, live, input) : undefined;
    if (!trace || trace === 'unfinished') kept.delete(path);
    else if (trace === 'earlier') corrected.push(asItIs(record, live as LiveFile));
  }
  return { desired: { ...desired, kept }, corrected };
}

/** The record of a file that was to change and did not. Where git's id of it is not known, an id that none has. */
function asItIs({ path, source, groupWrite, kept }: OwnedFile, live: LiveFile): OwnedFile {
  const { executable, fingerprint, sha256, blob = sha256 } = live;
  return {
    path,
    source,
    blob,
    sha256,
    executable,
    fingerprint,
    ...(groupWrite && { groupWrite }),
    ...(kept && { kept }),
  };
}
