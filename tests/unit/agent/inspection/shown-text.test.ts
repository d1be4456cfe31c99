import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { looksSecret, shownText } from '../../../../agent/inspection/shown-text.ts';
import { assertLinear } from '../../../support/assert-linear.ts';

suite('a file that is shown to users', () => {
  test('never has the name of a secret', () => {
    const secret = [
      ...['tls.key', 'a/b.PEM', 'store.jks', 'x.p12', 'x.pfx', '.env', 'a/.env', 'a/.env.local', 'prod.env', '.npmrc'],
      ...['my-secret.json', 'secrets/a.txt', 'a/Passwords.txt', 'credentials', '.netrc', 'keys/id_ed25519', 'x.kdbx'],
    ];
    for (const path of secret) assert.ok(looksSecret(path), path);
    for (const path of ['a.txt', 'keyboard.json', 'env.json', 'config/monkey.txt', 'environment', 'README.md']) {
      assert.ok(!looksSecret(path), path);
    }
  });

  test('never contains a private key, whatever its name', () => {
    for (const kind of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ']) {
      const text = `a: |\n  -----BEGIN ${kind}PRIVATE KEY-----\n  xyz\n`;
      assert.deepEqual(shownText(Buffer.from(text)), { kind: 'leftOut', why: 'secret' });
    }
    assert.deepEqual(shownText(Buffer.from('-----BEGIN PGP PRIVATE KEY BLOCK-----')), {
      kind: 'leftOut',
      why: 'secret',
    });
    assert.equal(shownText(Buffer.from('-----BEGIN CERTIFICATE-----')).kind, 'text');
  });

  test('is text, checked byte by byte', () => {
    for (const content of [Buffer.from([0]), Buffer.from([0xff, 0xfe]), Buffer.from('a\0b'), Buffer.from([0xc3])]) {
      assert.deepEqual(shownText(content), { kind: 'leftOut', why: 'binary' });
    }
    for (const text of ['', '\ufeffbom\r\n', 'é\n', '\u001b[31m']) {
      assert.deepEqual(shownText(Buffer.from(text)), { kind: 'text', text });
    }
  });

  test('is scanned in linear time', () => {
    assertLinear(4_000, (size) => Buffer.from('-----BEGIN '.repeat(size)), shownText);
    assertLinear(4_000, (size) => `${'.env'.repeat(size)}/`, looksSecret);
  });
});
