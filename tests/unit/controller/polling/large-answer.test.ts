import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { slow } from '../../../support/depth.ts';
import { ADVERTISEMENT, queryTools, SERVICE, startHost, VERSION_2 } from './query-world.ts';

const run = promisify(execFile);
const wanted = 'f'.repeat(40);
const MIB = 1024 * 1024;

/** Queries in a process with the memory of the image, and returns its output. */
async function askInSmallProcess(repo: string): Promise<{ refs?: Record<string, string>; message?: string }> {
  const script = fileURLToPath(import.meta.resolve('./query-once.ts'));
  const slim = fileURLToPath(import.meta.resolve('../../../../scripts/test/slim-imports.ts'));
  const flags = ['--import', slim, '--max-semi-space-size=1', '--optimize-for-size', '--max-old-space-size=64'];
  const { stdout } = await run(process.execPath, [...flags, script, repo], { timeout: 110_000 });
  return JSON.parse(stdout);
}

const REFS_AT_A_TIME = 1_000;
const DIGITS = 7;

/** Returns a thousand unrelated refs, different ones each time: a new number is written into the same buffer. */
function otherRefs(): () => Buffer {
  const line = packet(`${'a'.repeat(40)} refs/heads/other-${'0'.repeat(DIGITS)}\n`);
  const lines = Buffer.from(line.repeat(REFS_AT_A_TIME), 'latin1');
  let index = 0;
  return () => {
    for (let end = line.length - 1; end < lines.length; end += line.length, index += 1)
      lines.write(String(index).padStart(DIGITS, '0'), end - DIGITS, 'latin1');
    return Buffer.from(lines);
  };
}

/** Writes unrelated refs up to a number of bytes, with the wanted one in the middle. */
async function writeRefs(response: ServerResponse, bytes: number): Promise<void> {
  const closed = new Promise((resolve) => response.once('close', resolve));
  const others = otherRefs();
  for (let written = 0, given = false; written < bytes && !response.destroyed; ) {
    if (!given && written >= bytes / 2) {
      response.write(packet(`${wanted} refs/heads/main\n`));
      given = true;
    }
    const batch = others();
    written += batch.length;
    if (!response.write(batch)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), closed]);
  }
}

suite("a server that sends refs that weren't requested", () => {
  const kinds = [
    { name: 'with protocol version 2', start: VERSION_2, isOld: false },
    { name: 'without it', start: `${SERVICE}${packet(`${'a'.repeat(40)} HEAD\0agent=git\n`)}`, isOld: true },
  ];
  for (const { name, start, isOld } of kinds) {
    for (const [size, bytes] of [
      ['24 MiB', 24 * MIB],
      ['64 MB', 64 * MIB],
    ] as const) {
      test(`${name}: ${size} pass through the controller's heap`, { ...slow, timeout: 120_000 }, async (t) => {
        const repo = await startHost(t, async (request, response) => {
          response.on('error', () => {});
          response.writeHead(200, { 'Content-Type': ADVERTISEMENT });
          const isDiscovery = request.url?.includes('/info/refs');
          if (isDiscovery) response.write(start);
          if (isOld || !isDiscovery) await writeRefs(response, bytes);
          response.end(isDiscovery && !isOld ? '' : '0000');
        });
        const { refs, message } = await askInSmallProcess(repo);
        if (bytes < 32 * MIB) assert.deepEqual(refs, { 'refs/heads/main': wanted });
        else assert.match(message ?? '', / 32 MiB\b/);
      });
    }
  }
});

test('the API of a git server can send at most 64 KiB', async (t) => {
  const url = new URL(await startHost(t, (_, response) => void response.end(Buffer.alloc(10 * MIB))));
  const { http } = queryTools();
  t.after(() => http.close());
  const answer = http.postJson(url, {}, { signal: AbortSignal.timeout(10_000) });
  await assert.rejects(answer, { name: 'TransientError', reason: 'GitAnswerTooLarge', message: / 64 KiB\b/ });
});
