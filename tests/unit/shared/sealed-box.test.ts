import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { drawKeys, open, seal } from '../../../shared/domain/sealed-box.ts';

const about = 'this pod, that question';

suite('a sealed box', () => {
  test('gives its owner what was put in, whatever it is', () => {
    const keys = drawKeys();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.string(), (bytes, topic) => {
        const opened = open(seal(bytes, { to: keys.publicKey, about: topic }), { keys, about: topic });
        assert.deepEqual(opened, Buffer.from(bytes));
      }),
      { numRuns: 50 },
    );
  });

  test('opens for nobody else', () => {
    const [keys, others] = [drawKeys(), drawKeys()];
    const sealed = seal(Buffer.from('x'), { to: keys.publicKey, about });
    assert.equal(open(sealed, { keys: others, about }), undefined);
    assert.equal(open(sealed, { keys: { ...others, publicKey: keys.publicKey }, about }), undefined);
    assert.equal(open(sealed, { keys: { ...keys, publicKey: others.publicKey }, about }), undefined);
  });

  test('is about one thing, and cannot be shown as about another', () => {
    const keys = drawKeys();
    const sealed = seal(Buffer.from('x'), { to: keys.publicKey, about });
    assert.equal(open(sealed, { keys, about: `${about} ` }), undefined);
  });

  test('does not open with any bit of it changed, nor shortened', () => {
    const keys = drawKeys();
    const box = Buffer.from(seal(Buffer.from('content'), { to: keys.publicKey, about }), 'base64');
    for (let byte = 0; byte < box.length; byte += 1) {
      for (const bit of [1, 64]) {
        const changed = Buffer.from(box);
        changed.writeUInt8(changed.readUInt8(byte) ^ bit, byte);
        assert.equal(open(changed.toString('base64'), { keys, about }), undefined, `byte ${byte}`);
      }
      assert.equal(open(box.subarray(0, byte).toString('base64'), { keys, about }), undefined, `${byte} bytes`);
    }
  });

  test('is never the same twice, also for the same content', () => {
    const keys = drawKeys();
    const boxes = Array.from({ length: 10 }, () => seal(Buffer.from('x'), { to: keys.publicKey, about }));
    assert.equal(new Set(boxes.map((box) => box.slice(0, 40))).size, 10);
  });

  test('is not made for what is no key, or one that lets everybody guess', () => {
    for (const to of ['', 'AAAA', Buffer.alloc(32).toString('base64'), Buffer.alloc(33, 1).toString('base64')]) {
      assert.throws(() => seal(Buffer.from('x'), { to, about }), to);
    }
  });
});
