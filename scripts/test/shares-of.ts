import path from 'node:path';
import { LONGEST } from './longest-first.ts';

/** Maximum number of files that share a process, so that the last processes have little to do. */
const MAX_FILES = 8;

/** Tests that start git many times: starting a program costs more if the process uses more memory. */
const ALONE = /^tests\/unit\/agent\/(gateway|git|inspection|lfs|signatures|sync|volume)\//;

/** Divides test files into those that share a process: files of one directory, with similar imports; the longest first. */
export function sharesOf(files: string[]): string[][] {
  const directories = Map.groupBy([...files].sort(byLength), (file) => path.dirname(file));
  const shares = [...directories.values()].flatMap((inDirectory) => {
    const count = Math.ceil(inDirectory.length / (ALONE.test(inDirectory[0] ?? '') ? 1 : MAX_FILES));
    // In turns, so that the longest aren't all in one process.
    return Array.from({ length: count }, (_, share) => inDirectory.filter((_file, index) => index % count === share));
  });
  return shares.sort(([a = ''], [b = '']) => byLength(a, b));
}

/** Compares files by their duration, the longest first. */
function byLength(a: string, b: string): number {
  return Number(LONGEST.includes(b)) - Number(LONGEST.includes(a));
}
