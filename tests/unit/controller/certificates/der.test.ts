import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as der from '../../../../controller/certificates/der.ts';

const hex = (bytes: Buffer) => bytes.toString('hex');

suite('DER encoding', () => {
  test('writes lengths in as few bytes as possible', () => {
    for (const [length, head] of [
      [0, '0400'],
      [127, '047f'],
      [128, '048180'],
      [255, '0481ff'],
      [256, '04820100'],
      [65_535, '0482ffff'],
    ] as const) {
      const encoded = der.octetString(Buffer.alloc(length));
      assert.equal(hex(encoded).slice(0, head.length), head);
      assert.equal(encoded.length, head.length / 2 + length);
    }
  });

  test('writes object identifiers as in X.690', () => {
    assert.equal(hex(der.oid('2.5.29.17')), '0603551d11');
    assert.equal(hex(der.oid('1.2.840.113549.1.1.11')), '06092a864886f70d01010b');
    assert.equal(hex(der.oid('1.2.840.10045.4.3.2')), '06082a8648ce3d040302');
  });

  test('writes a year in two digits before 2050, and in four from then on', () => {
    assert.equal(der.time(Date.parse('2049-12-31T23:59:59.999Z')).toString('latin1'), '\x17\x0d491231235959Z');
    assert.equal(der.time(Date.parse('2050-01-01T00:00:00Z')).toString('latin1'), '\x18\x0f20500101000000Z');
  });
});
