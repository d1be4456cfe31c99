import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { packet, readPackets } from '../../../../controller/polling/pkt-line.ts';
import { fc } from '../../../support/property.ts';

/** Reads bytes that arrive in chunks of this size. */
async function read(bytes: Buffer | string, pieceSize = 64): Promise<string[]> {
  const data = Buffer.from(bytes as string);
  const lines: string[] = [];
  async function* pieces() {
    for (let offset = 0; offset < data.length; offset += pieceSize) yield data.subarray(offset, offset + pieceSize);
  }
  for await (const line of readPackets(pieces())) lines.push(String(line));
  return lines;
}

suite('the pkt-line parser', () => {
  test('reads lines as they were written, in any chunks', async () => {
    const lines = fc.array(fc.string({ unit: 'grapheme', maxLength: 50 }));
    await fc.assert(
      fc.asyncProperty(lines, fc.integer({ min: 1, max: 200 }), async (given, pieceSize) => {
        const text = given.map((line) => packet(`${line}\n`)).join('');
        assert.deepEqual(await read(text, pieceSize), given);
      }),
    );
  });

  test('recognizes markers', async () => {
    assert.deepEqual(await read(`${packet('a')}000100020000`, 1), ['a', 'delimiter', 'end', 'flush']);
  });

  test('rejects malformed or truncated input of any kind', async () => {
    for (const text of ['00', 'zzzz', '0003', '0010short', '<html>', '-001', '0x05a', 'fff1', `${packet('a')}00`]) {
      await assert.rejects(read(text), /malformed/, text);
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        try {
          assert.ok((await read(Buffer.from(bytes))).length <= bytes.length);
        } catch (error) {
          assert.match(String(error), /malformed/);
        }
      }),
    );
  });

  test('rejects line after line with hardly any content', async () => {
    for (const line of ['0000', '0001', '0004', '0005a', '0006a\n']) {
      assert.equal((await read(line.repeat(1_000))).length, 1_000);
      await assert.rejects(read(line.repeat(1_001)), /malformed/, line);
    }
    assert.equal((await read(packet('a'.repeat(40)).repeat(5_000))).length, 5_000);
  });
});
