import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renderContent } from '../../../../agent/plan/render-content.ts';
import { firstInvalidByte } from '../../../../shared/domain/text/invalid-utf8.ts';
import { fc } from '../../../support/property.ts';

const values = new Map([['GatewayName', 'edge']]);
const NAME = 'name={{ .GatewayName }}\n';

const wide = (text: string, { width, isBig }: { width: 2 | 4; isBig: boolean }): Buffer => {
  const units = [...`\ufeff${text}`].map((character) => {
    const unit = Buffer.alloc(width);
    const code = character.codePointAt(0) ?? 0;
    if (isBig) unit.writeUIntBE(code, 0, width);
    else unit.writeUIntLE(code, 0, width);
    return unit;
  });
  return Buffer.concat(units);
};

const LITTLE = { isBig: false };
const BIG = { isBig: true };

suite("a template in text that isn't UTF-8 is a problem that names the bytes", () => {
  for (const [encoding, content, expected] of [
    ['ISO-8859-1', Buffer.from(`city=K\xf6ln\n${NAME}`, 'latin1'), ['6', '15']],
    ['ISO-8859-1, without the end of the braces', Buffer.from('\xfc{{ .GatewayName', 'latin1'), ['0', '1']],
    [
      'a replacement character, and more',
      Buffer.concat([Buffer.from('\ufffd'), Buffer.from([0xff]), Buffer.from(NAME)]),
      ['3', '9'],
    ],
    ['UTF-16LE', wide(NAME, { width: 2, ...LITTLE }), ['0', 'UTF-16LE', '12']],
    [
      'UTF-16LE, as iconv writes it, without a byte order mark',
      wide(NAME, { width: 2, ...LITTLE }).subarray(2),
      ['UTF-16LE', '10'],
    ],
    ['UTF-16BE, without a byte order mark', wide(NAME, { width: 2, ...BIG }).subarray(2), ['UTF-16BE', '10']],
    ['UTF-32BE', wide(NAME, { width: 4, ...BIG }), ['2', 'UTF-32BE', '24']],
  ] as const) {
    test(encoding, () => {
      const result = renderContent(content, values);
      assert.ok(result.kind === 'problem' && result.problems[0]?.key === 'encoding');
      assert.deepEqual(result.message.replaceAll('UTF-8', '').match(/UTF-\d+\w+|\d+/g), expected);
    });
  }
});

suite('content without a template stays unchanged', () => {
  for (const [what, content] of [
    ['in ISO-8859-1', Buffer.from('name=J\xfcrgen { {x} }', 'latin1')],
    ['in UTF-16', wide('name={ {', { width: 2, isBig: false })],
    ['in UTF-16, with braces of two neighbours', Buffer.from([0xff, 0xfe, 0x01, 0x7b, 0x00, 0x7b, 0x00, 0x4e])],
    ['in UTF-16, without a byte order mark', wide('name={ {', { width: 2, ...LITTLE }).subarray(2)],
    ['that is binary, with braces in UTF-16', Buffer.from('MZ\0\0{\0{\0x\0}\0}\0', 'latin1')],
  ] as const) {
    test(what, () => {
      assert.deepEqual(renderContent(content, values), { kind: 'content', content, keys: [] });
    });
  }
});

test('the first byte reported as not UTF-8 is the one at which a strict decoder stops', () => {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const isValid = (bytes: Buffer) => {
    try {
      decoder.decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const bytes = fc.array(fc.oneof(fc.constantFrom('a', 'é', '\ufffd', '💡'), fc.integer({ min: 0x80, max: 0xff })), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(bytes, (parts) => {
      const content = Buffer.concat(
        parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))),
      );
      const at = firstInvalidByte(content);
      if (at === undefined) return assert.ok(isValid(content));
      assert.ok(isValid(content.subarray(0, at)), 'everything before it is fine');
      // No valid character begins there.
      for (let size = 1; size <= 4; size += 1) assert.ok(!isValid(content.subarray(at, at + size)));
    }),
  );
});
