import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { inputsHash, type TemplateValues } from '../../shared/domain/render-template.ts';
import { TerminalError } from '../../shared/errors.ts';
import { HEAD_BYTES, isBinary, isLfsPointer, renderContent } from '../domain/deliverable-content.ts';
import type { DesiredFile } from '../domain/desired-tree.ts';
import { applyPatches } from '../domain/file-patches.ts';
import type { OwnedFile } from '../domain/manifest.ts';
import type { Blob, BlobReader } from './blob-reader.ts';
import { fingerprintOf } from './fingerprint.ts';
import { flushFiles } from './flush-files.ts';

/** A file with its final content, mode and time, on the data volume's file system but not in its place. */
export interface StagedFile {
  temporary: string;
  /** What the manifest will say of it. */
  record: OwnedFile;
}

export interface StagingOptions {
  folder: string;
  blobs: BlobReader;
  values: TemplateValues;
}

/** Templates are rendered, and JSON is patched, in memory. */
const MAX_RENDERED_BYTES = 8 * 1024 * 1024;

/** Writes the content of every file to a temporary one and flushes it. Nothing is in its place when this throws. */
export async function stageFiles(files: DesiredFile[], options: StagingOptions): Promise<StagedFile[]> {
  const staged: StagedFile[] = [];
  for (const [index, file] of files.entries()) {
    const temporary = join(options.folder, String(index));
    const { sha256, inputs, fingerprint } = await writeContent(file, temporary, options);
    const { path, source, blob, executable } = file;
    const recipe = { ...(inputs && { inputs }), ...(file.patches && { patches: file.patches.hash }) };
    const record = { path, source, blob, ...recipe, sha256, executable, fingerprint };
    staged.push({ temporary, record });
  }
  // Content comes from one process and is written in turn; flushing, which takes longest, need not be.
  await flushFiles(
    staged.map(({ temporary }) => temporary),
    options.folder,
  );
  return staged;
}

async function writeContent(file: DesiredFile, temporary: string, options: StagingOptions) {
  const { blobs, values } = options;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    const blob = await blobs.open(file.blob);
    const isRendered = file.patches || (file.template && blob.size <= MAX_RENDERED_BYTES);
    const write = isRendered ? writeRendered : writeAsIs;
    const written = await write(handle, blob, { file, values });
    await handle.chmod(file.executable ? 0o755 : 0o644);
    return { ...written, fingerprint: fingerprintOf(await handle.stat({ bigint: true })) };
  } finally {
    await handle.close();
  }
}

interface Written {
  sha256: string;
  inputs: OwnedFile['inputs'];
}

interface Source {
  file: DesiredFile;
  values: TemplateValues;
}

async function writeRendered(handle: FileHandle, blob: Blob, source: Source): Promise<Written> {
  const { file, values } = source;
  if (blob.size > MAX_RENDERED_BYTES) {
    throw contentError(`${file.source} is too large to be patched (over ${MAX_RENDERED_BYTES} bytes)`);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of blob.chunks) chunks.push(chunk);
  const { content, keys } = renderFile(Buffer.concat(chunks), source);
  await handle.writeFile(content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { sha256, inputs: keys && { keys, hash: inputsHash(keys, values) } };
}

/** Templates come first: a patch may address what they make. */
function renderFile(given: Buffer, { file, values }: Source): { content: Buffer; keys: string[] | undefined } {
  refusePointer(file, given, given.length);
  const rendered = file.template ? renderContent(given, values) : undefined;
  if (rendered?.kind === 'problem') throw contentError(`${file.source}: ${rendered.message}`);
  const content = rendered?.content ?? given;
  if (!file.patches) return { content, keys: rendered?.keys };
  const patched = applyPatches(content, file.patches);
  if (patched.kind === 'problem') throw contentError(`${file.source} ${patched.message}`);
  return { content: patched.content, keys: rendered?.keys };
}

async function writeAsIs(handle: FileHandle, blob: Blob, { file, values }: Source): Promise<Written> {
  const hash = createHash('sha256');
  let head = Buffer.alloc(0);
  for await (const chunk of blob.chunks) {
    if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
    hash.update(chunk);
    await handle.writeFile(chunk);
  }
  refusePointer(file, head, blob.size);
  if (file.template && !isBinary(head)) {
    throw contentError(`${file.source} is too large for a template (over ${MAX_RENDERED_BYTES} bytes): map it without`);
  }
  return { sha256: hash.digest('hex'), inputs: file.template ? { keys: [], hash: inputsHash([], values) } : undefined };
}

function refusePointer(file: DesiredFile, head: Buffer, size: number): void {
  if (!isLfsPointer(head, size)) return;
  throw new TerminalError(
    `${file.source} is kept in Git LFS, which the agent does not fetch: only a pointer would be delivered. Exclude it, or commit the file itself`,
    { code: 'content.lfsPointer', reason: 'LfsNotSupported' },
  );
}

const contentError = (message: string) =>
  new TerminalError(message, { code: 'content.invalid', reason: 'ContentInvalid' });
