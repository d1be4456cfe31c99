import { hasMode } from '../plan/file-mode.ts';
import type { Manifest, OwnedFile } from '../plan/manifest.ts';
import type { LiveEntry, LiveTree } from '../plan/plan-input.ts';

/** A file that differs from the delivered one, and the current entry. */
export interface DriftedFile {
  record: OwnedFile;
  reason: 'Drifted' | 'Missing' | 'ModeChanged';
  live: LiveEntry | undefined;
}

/** Returns all differences from the delivered files, regardless of the profile's policy. */
export function driftOf({ files }: Manifest, live: LiveTree): DriftedFile[] {
  const drifted: DriftedFile[] = [];
  for (const record of files.values()) {
    const entry = live.get(record.path);
    const reason = reasonOf(record, entry);
    if (reason) drifted.push({ record, reason, live: entry });
  }
  return drifted;
}

function reasonOf(record: OwnedFile, live: LiveEntry | undefined): DriftedFile['reason'] | undefined {
  if (!live) return 'Missing';
  if (live.kind !== 'file' || live.sha256 !== record.sha256) return 'Drifted';
  return hasMode(live, record, { record, groupWrite: record.groupWrite ?? false }) ? undefined : 'ModeChanged';
}
