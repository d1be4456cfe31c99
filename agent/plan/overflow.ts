import { shellWord } from '../../shared/domain/text/shell-quote.ts';

/** Number of files and directories, and size of the files. */
export interface Extent {
  entries: number;
  bytes: number;
}

/** The directory with the files of others that the agent keeps. */
export interface TakenOverExtent extends Extent {
  /** Its path in the data volume. */
  path: string;
  /** The kept files and directories, by their paths in it. */
  names: string[];
}

/** Maximum extent of `taken-over`. */
export const MAX_TAKEN_OVER: Extent = { entries: 10_000, bytes: 1024 ** 3 };

/** Share of the limit from which the agent warns. */
const WARNING = 0.8;

/** Returns the used share of the limit. */
export const usedShare = ({ entries, bytes }: Extent): number =>
  Math.max(entries / MAX_TAKEN_OVER.entries, bytes / MAX_TAKEN_OVER.bytes);

/** Returns the problem if the limit doesn't allow a plan to replace these as well. */
export function overflow(replaced: readonly Extent[], takenOver: TakenOverExtent | undefined): string | undefined {
  if (replaced.length === 0) return undefined;
  const { path, ...extent } = { path: 'taken-over', entries: 0, bytes: 0, ...takenOver };
  for (const { entries, bytes } of replaced) {
    extent.entries += entries;
    extent.bytes += bytes;
  }
  if (usedShare(extent) <= 1) return undefined;
  return `${path} would have ${described(extent)}, but the limit is ${described(MAX_TAKEN_OVER)}: exclude the files that the agent would take over, or ${toCleanUp(path)}`;
}

/** Returns the warning about a directory that is almost full. */
export function almostFull(extent: TakenOverExtent): string | undefined {
  if (usedShare(extent) < WARNING) return undefined;
  return `${extent.path} has ${described(extent)}, and the limit is ${described(MAX_TAKEN_OVER)}: ${toCleanUp(extent.path)}`;
}

const described = ({ entries, bytes }: Extent): string =>
  `${entries} files and directories (${Math.ceil(bytes / 1024 ** 2)} MiB)`;

const toCleanUp = (path: string): string =>
  `save the files in ${path} that you need, and run this command in the root of the data volume: rm -r ${shellWord(path)}`;
