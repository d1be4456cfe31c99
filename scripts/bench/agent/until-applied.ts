import { open } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchAgent } from './world.ts';

/** More than the last line of a manifest has. */
const END_BYTES = 4096;

/** Waits until the agent's manifest ends with the commit: it is then completely in place. */
export async function untilApplied({ data }: Pick<BenchAgent, 'data'>, commit: string): Promise<void> {
  const manifest = path.join(data, '.sync-agent/manifest.jsonl');
  for (;;) {
    const lines = (await readEnd(manifest)).trimEnd();
    if (lines.slice(lines.lastIndexOf('\n')).includes(`"commit":"${commit}"`)) return;
    await sleep(5);
  }
}

/** Only the end: to read megabytes while an agent writes them would slow it down, and count as its time. */
async function readEnd(file: string): Promise<string> {
  const handle = await open(file).catch(() => undefined); // there is none yet
  if (!handle) return '';
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.alloc(END_BYTES),
      position: Math.max(0, size - END_BYTES),
    });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
