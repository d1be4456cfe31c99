import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** More bytes than the last line of a manifest has. */
const END_BYTES = 4096;

/** Waits until the manifest in an agent's data directory ends with the commit, which is its last write of a sync. */
export async function untilApplied(data: string, commit: string): Promise<void> {
  const manifest = path.join(data, '.sync-agent/manifest.jsonl');
  for (;;) {
    const lines = readEnd(manifest).trimEnd();
    if (lines.slice(lines.lastIndexOf('\n')).includes(`"commit":"${commit}"`)) return;
    await sleep(5);
  }
}

/** Reads only the end, because the agent shares the CPU with this program. */
function readEnd(file: string): string {
  if (!existsSync(file)) return '';
  const descriptor = openSync(file, 'r');
  try {
    const start = Math.max(0, fstatSync(descriptor).size - END_BYTES);
    const end = Buffer.alloc(END_BYTES);
    return end.toString('utf8', 0, readSync(descriptor, end, { position: start }));
  } finally {
    closeSync(descriptor);
  }
}
