import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchAgent } from './world.ts';

/** More than the last line of a manifest has. */
const END_BYTES = 4096;

/** Waits until the agent's manifest ends with the commit: it is then completely in place. */
export async function untilApplied({ data }: Pick<BenchAgent, 'data'>, commit: string): Promise<void> {
  const manifest = path.join(data, '.sync-agent/manifest.jsonl');
  for (;;) {
    const lines = readEnd(manifest).trimEnd();
    if (lines.slice(lines.lastIndexOf('\n')).includes(`"commit":"${commit}"`)) return;
    await sleep(5);
  }
}

/** Only the end, and without a wait: what this does while an agent works slows the agent down, and counts as its time. */
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
