import { fstatSync, readSync } from 'node:fs';
import { isForbidden } from '../disk/hash-file.ts';
import { OpenFile } from '../disk/open-file.ts';
import { READ_FLAGS } from '../disk/read-text.ts';
import type { DataRoot } from '../volume/state/data-root.ts';

/** Result of reading a file: missing, not a file, too large, not permitted, or its content. */
export type SmallFile = { kind: 'absent' | 'noFile' | 'large' | 'unreadable' } | { kind: 'content'; content: Buffer };

/** Reads a file of the data volume with at most `maxBytes`, without following links. */
export function readSmall(root: DataRoot, path: string, maxBytes: number): SmallFile {
  const read = (file: string): SmallFile => {
    using opened = new OpenFile(file, READ_FLAGS);
    const { descriptor } = opened;
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { kind: 'noFile' };
    if (stats.size > maxBytes) return { kind: 'large' };
    const content = Buffer.alloc(stats.size);
    return { kind: 'content', content: content.subarray(0, readSync(descriptor, content)) };
  };
  try {
    return root.lookInside(path, read) ?? { kind: 'absent' };
  } catch (error) {
    if (isForbidden(error)) return { kind: 'unreadable' };
    throw error;
  }
}
