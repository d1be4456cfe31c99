import path from 'node:path';
import { LONGEST } from './longest-first.ts';

/** Files that share a process at most: the last processes to end are not to have much to do. */
const MOST_FILES = 8;

/** What starts git a thousand times: to start a program costs the more the more a process has in memory. */
const ALONE = /^tests\/unit\/agent\/(gateway|git|inspection|lfs|signatures|sync|volume)\//;

/** Which test files share a process: those of one folder, which import much the same. What takes longest begins first. */
export function sharesOf(files: string[]): string[][] {
  const folders = Map.groupBy([...files].sort(byLength), (file) => path.dirname(file));
  const shares = [...folders.values()].flatMap((inFolder) => {
    const count = Math.ceil(inFolder.length / (ALONE.test(inFolder[0] ?? '') ? 1 : MOST_FILES));
    // In turns, so that those that take longest are not all in one.
    return Array.from({ length: count }, (_, share) => inFolder.filter((_file, index) => index % count === share));
  });
  return shares.sort(([a = ''], [b = '']) => byLength(a, b));
}

/** Those that take longest come first. */
function byLength(a: string, b: string): number {
  return Number(LONGEST.includes(b)) - Number(LONGEST.includes(a));
}
