import { randomUUID } from 'node:crypto';
import { type BigIntStats, fstatSync, readSync } from 'node:fs';
import { type Answer, INSPECTION, type LeftOut, type Question } from '../../shared/api/inspection.ts';
import { sourceBelow } from '../../shared/domain/files/render-mappings.ts';
import { isForbidden } from '../disk/hash-file.ts';
import { OpenFile } from '../disk/open-file.ts';
import { READ_FLAGS } from '../disk/read-text.ts';
import { type DataRoot, unlessAbsent } from '../volume/state/data-root.ts';
import { isPrivate, whyHidden } from './contents.ts';
import { type InspectionScope, notComplete } from './inspection-scope.ts';
import { deliveredMappings, isReserved, isSecretTo } from './new-files.ts';
import { hasPrivateKey, KEY_MARK_BYTES, looksSecret } from './shown-text.ts';

type Content = NonNullable<Answer['content']>;

/** A file that was changed more recently than this (ms) could be changed again without a new time. */
const SETTLED_MS = 2_000;
/** Bytes of a file that are searched for a private key at once. */
const PIECE_BYTES = 1024 * 1024;
/** Maximum number of reads of a part if the file changes during each. */
const ATTEMPTS = 3;

/** Reads a part of a delivered file, or of a new file in a delivered directory. */
export async function readContent({ path = '', offset = 0 }: Question, scope: InspectionScope): Promise<Answer> {
  const { root, manifestFile } = scope.dependencies;
  const nothing = { changes: [], more: 0 };
  if (!(await manifestFile.readApplied())) throw notComplete();
  const record = (await manifestFile.read()).files.get(path);
  const isSecret = looksSecret(path) || looksSecret(record?.source ?? '') || isPrivate(record);
  // A captured file that was new is one that the agent didn't write.
  const isNew = !record || record.found === true;
  const why = isNew ? await whyNotNew(path, scope) : whyHidden(record);
  if (why || isSecret) return { ...nothing, leftOut: why ?? 'secret' };
  const found = readPart(root, path, { offset, isNew });
  return typeof found === 'string' ? { ...nothing, leftOut: found } : { ...nothing, content: found };
}

async function whyNotNew(path: string, scope: InspectionScope): Promise<LeftOut | undefined> {
  const { root } = scope.dependencies;
  const mappings = await deliveredMappings(scope);
  const isDelivered = mappings.some((mapping) => sourceBelow(mapping, path) !== undefined);
  if (!isDelivered || isReserved(path, root)) return 'foreign';
  if (isSecretTo(mappings, path)) return 'secret';
  return isSpelled(root, path) ? undefined : 'noFile';
}

/**
 * Checks whether the volume lists the path exactly so. If it ignores the case, another spelling would lead to a file that
 * must not be read.
 */
function isSpelled(root: DataRoot, path: string): boolean {
  const names = path.split('/');
  const isListed = (name: string, level: number) => {
    using directory = root.openDirectory(root.pathOnDisk(names.slice(0, level).join('/')));
    return directory.list().includes(name);
  };
  return unlessAbsent(() => names.every(isListed)) ?? false;
}

interface Part {
  offset: number;
  isNew: boolean;
}

function readPart(root: DataRoot, path: string, part: Part): Content | LeftOut {
  try {
    return root.lookInside(path, (file) => readOpen(file, part)) ?? 'noFile';
  } catch (error) {
    if (isForbidden(error)) return 'unreadable';
    throw error;
  }
}

function readOpen(file: string, { offset, isNew }: Part): Content | LeftOut {
  using opened = new OpenFile(file, READ_FLAGS);
  const { descriptor } = opened;
  const stat = () => fstatSync(descriptor, { bigint: true });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = stat();
    if (!before.isFile()) return 'noFile';
    if (isNew && isPrivate({ mode: Number(before.mode) })) return 'secret';
    if (before.size > INSPECTION.readBytes) return 'large';
    const bytes = Buffer.alloc(INSPECTION.chunkBytes);
    const read = bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, offset));
    const isSecret = hasKeyBefore(descriptor, offset + read.length);
    if (versionOf(stat()) !== versionOf(before)) continue;
    if (isSecret) return 'secret';
    const isSettled = Date.now() - Number(before.ctimeMs) > SETTLED_MS;
    const version = isSettled ? versionOf(before) : `${versionOf(before)} ${randomUUID()}`;
    return { data: read.toString('base64'), size: Number(before.size), version };
  }
  return 'changing';
}

/** Checks whether a private key starts before an offset: the requested part could be the middle of one. */
function hasKeyBefore(descriptor: number, end: number): boolean {
  const piece = Buffer.alloc(PIECE_BYTES);
  // With the end of the previous piece, because the start of a key can be in both.
  for (let start = 0; start < end; start += PIECE_BYTES - KEY_MARK_BYTES) {
    const read = readSync(descriptor, piece, 0, Math.min(piece.length, end - start), start);
    if (hasPrivateKey(piece.subarray(0, read))) return true;
  }
  return false;
}

const versionOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => [ino, size, mtimeNs, ctimeNs].join(' ');
