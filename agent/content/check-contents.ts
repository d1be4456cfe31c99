import { getHeapStatistics } from 'node:v8';
import { TOO_LARGE } from '../../shared/domain/syntax/check-syntax.ts';
import { SYNTAX_BOUNDS } from '../../shared/domain/syntax/syntax-problem.ts';
import type { Problem } from '../../shared/errors.ts';
import type { FileToCheck } from '../plan/files-to-check.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import { type CheckRequest, CheckThread } from './check-thread.ts';
import { type ContentSource, contentAtHand, deliverContent } from './deliver-content.ts';

/** Bytes of files that are sent to the thread at once, because a message takes longer than a small file. */
const BATCH_BYTES = 1024 ** 2;
/** CPU time to check all files of a commit (ms). */
const CPU_MS = 5_000;
/** Time to check one batch, even on a busy node (ms). */
const BATCH_MS = 60_000;
/** V8 needs this much for itself (MiB). */
const MIN_HEAP = 16;
/** The thread's share of the heap that the program doesn't use, so that both stay within the program's limit. */
const HEAP_SHARE = 0.75;

/** Checks the content that the files will have, and returns the problems with the files' paths in the repository. */
export async function checkContents(
  files: readonly FileToCheck[],
  source: ContentSource & { heapBytes: number; signal: AbortSignal },
): Promise<Problem[]> {
  await using thread = await CheckThread.start({ cpuMs: CPU_MS, callMs: BATCH_MS, heapMiB: heapFor(source) });
  const problems: Problem[] = [];
  for await (const batch of readBatches(files, source, problems)) {
    source.signal.throwIfAborted();
    const { problems: found, isEnded } = await thread.check(batch, source.signal);
    for (const { number, rule, problem } of found) problems.push(problemOf(files[number]?.file, rule, problem));
    if (isEnded) break;
  }
  return problems;
}

const problemOf = (file: DesiredFile | undefined, rule: string, problem: string): Problem => ({
  key: `${file?.source}: ${rule}`,
  message: `${file?.source}: ${problem}`,
});

function heapFor({ heapBytes }: { heapBytes: number }): number {
  const unused = heapBytes - getHeapStatistics().used_heap_size;
  return Math.max(MIN_HEAP, Math.floor((HEAP_SHARE * unused) / 1024 ** 2));
}

/** Reads the files in batches, and adds files over the size limit to the problems. */
async function* readBatches(
  files: readonly FileToCheck[],
  source: ContentSource,
  problems: Problem[],
): AsyncGenerator<CheckRequest[]> {
  let batch: CheckRequest[] = [];
  let bytes = 0;
  for (const [number, { file, formats }] of files.entries()) {
    const content = await readContent(file, source);
    if (!content) problems.push(problemOf(file, 'size', TOO_LARGE));
    else for (const format of formats) batch.push({ number, format, content: new Uint8Array(content).buffer });
    bytes += content?.length ?? 0;
    if (bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Returns undefined for a file over the size limit. */
async function readContent(file: DesiredFile, source: ContentSource): Promise<Buffer | undefined> {
  const atHand = contentAtHand(file, source);
  if (atHand) return atHand.length > SYNTAX_BOUNDS.bytes ? undefined : atHand;
  const chunks: Buffer[] = [];
  let bytes = 0;
  await deliverContent(file, source, (chunk) => {
    bytes += chunk.length;
    if (bytes <= SYNTAX_BOUNDS.bytes) chunks.push(chunk);
    else chunks.length = 0;
  });
  return bytes > SYNTAX_BOUNDS.bytes ? undefined : Buffer.concat(chunks);
}
