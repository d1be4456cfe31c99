import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CompactEncrypt } from 'jose';
import { drawKeys, open, seal } from '../../../../shared/io/sealed-box.ts';
import { fc } from '../../../support/property.ts';

const about = 'this pod, that question';
const maxBytes = 2_000;
const keys = await drawKeys();
const others = await drawKeys();
const sealed = await seal(Buffer.from('content'), { to: keys.publicKey, about });

suite('a sealed box', () => {
  test('returns its content to its owner, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: maxBytes }), fc.string(), async (bytes, topic) => {
        const box = await seal(bytes, { to: keys.publicKey, about: topic });
        assert.deepEqual(Buffer.from((await open(box, { keys, about: topic, maxBytes })) ?? []), Buffer.from(bytes));
      }),
      { numRuns: 50 },
    );
  });

  test('opens with no other keys', async () => {
    assert.equal(await open(sealed, { keys: others, about, maxBytes }), undefined);
    const mixed = { ...others, publicKey: keys.publicKey };
    assert.equal(await open(sealed, { keys: mixed, about, maxBytes }), undefined);
  });

  test("belongs to one subject, and can't be passed off as another's", async () => {
    assert.equal(await open(sealed, { keys, about: `${about} `, maxBytes }), undefined);
    assert.equal(await open(sealed, { keys, about: '', maxBytes }), undefined);
  });

  test("doesn't open with any bit changed, or if it is shortened", async () => {
    const parts = sealed.split('.').map((part) => Buffer.from(part, 'base64url'));
    for (const [index, part] of parts.entries()) {
      for (let byte = 0; byte < part.length; byte += 1) {
        const changed = Buffer.from(part);
        changed.writeUInt8(changed.readUInt8(byte) ^ 1, byte);
        const box = parts.with(index, changed).map((each) => each.toString('base64url'));
        assert.equal(await open(box.join('.'), { keys, about, maxBytes }), undefined, `byte ${byte} of part ${index}`);
      }
    }
    for (let length = 0; length < sealed.length; length += 1)
      assert.equal(await open(sealed.slice(0, length), { keys, about, maxBytes }), undefined, `${length} characters`);
  });

  test('has another key each time, even for the same content', async () => {
    const boxes = await Promise.all(
      Array.from({ length: 10 }, () => seal(Buffer.from('x'), { to: keys.publicKey, about })),
    );
    assert.equal(new Set(boxes.map((box) => box.split('.')[0])).size, 10);
  });

  test("doesn't open if its content exceeds the limit", async () => {
    const bomb = await seal(Buffer.alloc(maxBytes + 1), { to: keys.publicKey, about });
    assert.ok(bomb.length < maxBytes);
    assert.equal(await open(bomb, { keys, about, maxBytes }), undefined);
  });

  test("doesn't open if its content exceeds the limit without being compressed", async () => {
    const header = { alg: 'ECDH-ES', enc: 'A256GCM' };
    const jwk = { kty: 'OKP', crv: 'X25519', x: keys.publicKey };
    for (const size of [maxBytes, maxBytes + 1]) {
      const box = new CompactEncrypt(Buffer.alloc(size)).setProtectedHeader(header);
      const sent = await box.setKeyManagementParameters({ apv: Buffer.from(about) }).encrypt(jwk);
      assert.equal((await open(sent, { keys, about, maxBytes }))?.length, size > maxBytes ? undefined : size);
    }
  });

  test("doesn't open without a subject", async () => {
    const header = { alg: 'ECDH-ES', enc: 'A256GCM', zip: 'DEF' };
    const box = new CompactEncrypt(Buffer.from('x')).setProtectedHeader(header);
    const jwk = { kty: 'OKP', crv: 'X25519', x: keys.publicKey };
    assert.equal(await open(await box.encrypt(jwk), { keys, about: '', maxBytes }), undefined);
  });

  test("isn't made for an invalid or guessable key", async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(3), Buffer.alloc(32), Buffer.alloc(33, 1)])
      await assert.rejects(seal(Buffer.from('x'), { to: bytes.toString('base64url'), about }), `${bytes.length} bytes`);
  });
});
