import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { packet, readPackets } from '../../../../controller/polling/pkt-line.ts';

suite('pkt-line', () => {
  test('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 50 })), (lines) => {
        const read = [...readPackets(Buffer.from(lines.map((line) => packet(`${line}\n`)).join('')))];
        assert.deepEqual(read.map(String), lines);
      }),
    );
  });

  test('knows its markers', () => {
    assert.deepEqual([...readPackets(Buffer.from(`${packet('a')}000100020000`))].map(String), [
      'a',
      'delimiter',
      'end',
      'flush',
    ]);
  });

  test('refuses what is malformed, whatever it is', () => {
    for (const text of ['00', 'zzzz', '0003', '0010short', '<html>', '-001', '0x05a']) {
      assert.throws(() => [...readPackets(Buffer.from(text))], /malformed/, text);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          assert.ok([...readPackets(Buffer.from(bytes))].length <= bytes.length);
        } catch (error) {
          assert.match(String(error), /malformed/);
        }
      }),
    );
  });
});
