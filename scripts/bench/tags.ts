import { setImmediate as nextTurn } from 'node:timers/promises';
import { lsRefs } from '../../controller/polling/ls-refs.ts';
import { packet } from '../../controller/polling/pkt-line.ts';
import { readOptions } from './support/read-options.ts';
import { printTable } from './support/table.ts';

const defaults = { tags: 400_000, ranges: 5_000 };
const UPLOAD_PACK = new URL('https://git.example.com/app.git/git-upload-pack');
const CHUNK_BYTES = 64 * 1024;

/**
 * Measures the CPU time of the controller for a list of all tags, and the longest time for which it does nothing else, with
 * ranges that are cheap, and with ranges that are as expensive as one can be; `--tags 400000 --ranges 5000`.
 */
export async function run(args: string[]): Promise<void> {
  const { tags, ranges } = readOptions(args, defaults);
  const chunks = chunksOf(tags);
  const cheap = (n: number) => `~1.${n}`;
  const expensive = (n: number) => Array.from({ length: 20 }, (_, part) => `${n + 9}.${part}`).join('||');
  const rows = [
    ['no range', await measure(chunks, [])],
    ['one range', await measure(chunks, [cheap(0)])],
    [`${ranges} ranges`, await measure(chunks, listOf(ranges, cheap))],
    [`${ranges} ranges with 20 parts each`, await measure(chunks, listOf(ranges, expensive))],
  ] as const;
  printTable(
    [`a list of ${tags} tags`, 'CPU time', 'longest without a break'],
    rows.map(([what, { total, longest }]) => [what, `${total.toFixed(0)} ms`, `${longest.toFixed(0)} ms`]),
  );
}

const listOf = (count: number, make: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** The response of a git server, in the pieces in which a socket delivers it. */
function chunksOf(tags: number): Buffer[] {
  const lines = listOf(tags, (n) => packet(`${'a'.repeat(40)} refs/tags/v1.${Math.floor(n / 100)}.${n % 100}\n`));
  const answer = Buffer.from(`${lines.join('')}0000`);
  return Array.from({ length: Math.ceil(answer.length / CHUNK_BYTES) }, (_, n) =>
    answer.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES),
  );
}

/** Returns CPU times (ms), which other programs don't affect. */
async function measure(chunks: Buffer[], ranges: string[]): Promise<{ total: number; longest: number }> {
  async function* body() {
    for (const chunk of chunks) {
      yield chunk;
      await nextTurn();
    }
  }
  const http = { post: async (url: URL) => ({ url, contentType: undefined, body: body() }) };
  const endpoint = { url: UPLOAD_PACK, refs: undefined, objectFormat: 'sha1' };
  const query = { prefixes: ['refs/tags/v1.0.0'], ranges };
  const began = processorMs();
  let last = began;
  let longest = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await nextTurn();
      const now = processorMs();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  await lsRefs(http, endpoint, query, { signal: new AbortController().signal });
  const total = processorMs() - began;
  isOver = true;
  await watching;
  return { total, longest };
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
