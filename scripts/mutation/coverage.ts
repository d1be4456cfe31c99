import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface Range {
  startOffset: number;
  endOffset: number;
  count: number;
}

interface Report {
  result: { url: string; functions: { ranges: Range[] }[] }[];
}

/** What ran of each file, by its path relative to the root. */
export type Coverage = ReadonlyMap<string, readonly Range[]>;

/** Reads what processes with `NODE_V8_COVERAGE` left in a folder. Types are blanked out, so that places are those of the source. */
export async function readCoverage(folder: string, root: string): Promise<Coverage> {
  const found = new Map<string, Range[]>();
  for (const name of await readdir(folder)) {
    const { result } = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Report;
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue;
      const file = path.relative(root, fileURLToPath(url));
      if (/^\.\.|node_modules\//.test(file)) continue;
      const ranges = functions.flatMap((each) => each.ranges);
      found.set(file, [...(found.get(file) ?? []), ...ranges]);
    }
  }
  return found;
}

/** Whether the code at a place ran: the smallest range around it says so. */
export function hasRun(ranges: readonly Range[], start: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= start && start < endOffset);
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  const smallest = around.reduce<Range | undefined>((a, b) => (a && size(a) <= size(b) ? a : b), undefined);
  return (smallest?.count ?? 0) > 0;
}
