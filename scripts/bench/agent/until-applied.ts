import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchAgent } from './world.ts';

/** Waits until the agent's manifest ends with the commit: it is then completely in place. */
export async function untilApplied({ data }: Pick<BenchAgent, 'data'>, commit: string): Promise<void> {
  const manifest = path.join(data, '.sync-agent/manifest.jsonl');
  for (let modified = 0; ; await sleep(5)) {
    const { mtimeMs } = await stat(manifest).catch(() => ({ mtimeMs: 0 }));
    if (mtimeMs === modified) continue;
    modified = mtimeMs;
    const lines = (await readFile(manifest, 'utf8')).trimEnd();
    if (lines.slice(lines.lastIndexOf('\n')).includes(`"commit":"${commit}"`)) return;
  }
}
