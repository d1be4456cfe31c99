import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { hmacKeyOf } from '../../../../receiver/authentication/hmac-key.ts';
import { verifySignature as verifyHeaders } from '../../../../receiver/authentication/verify-signature.ts';

/** By GitHub's header. */
const verifySignature = (bytes: Buffer, header: string | undefined, secrets: string[]) =>
  verifyHeaders({ 'x-hub-signature-256': header }, bytes, secrets.map(hmacKeyOf));

const body = Buffer.from('Hello, World!');
const secret = "It's a Secret to Everybody";
// The example of GitHub's documentation.
const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';

test('the signature of a body with its secret is accepted, in lower or upper case', () => {
  assert.equal(verifySignature(body, signature, [secret]), true);
  assert.equal(
    verifySignature(body, signature.replace(/[a-f]/g, (digit) => digit.toUpperCase()).replace('SHA', 'sha'), [secret]),
    true,
  );
});

test('any of several secrets is accepted during a rotation', () => {
  assert.equal(verifySignature(body, signature, ['old', secret]), true);
  assert.equal(verifySignature(body, signature, ['old', 'new']), false);
  assert.equal(verifySignature(body, signature, []), false);
});

test('a changed byte is rejected, and so is a signature with an empty secret', () => {
  assert.equal(verifySignature(Buffer.from('Hello, World?'), signature, [secret]), false);
  const byEmpty = `sha256=${createHmac('sha256', '').update(body).digest('hex')}`;
  assert.equal(verifySignature(body, byEmpty, [secret]), false);
});

test('a header in any other form is rejected without an error', () => {
  const hex = signature.slice('sha256='.length);
  const headers = [
    ...[undefined, '', 'sha256', 'sha256=', 'sha256=ab', hex, `sha1=${hex}`, `sha256=${hex}00`],
    ...[`sha256=${hex.slice(1)}`, `sha256=${'zz'.repeat(32)}`, `sha256=${'é'.repeat(64)}`, ` ${signature}`],
    ...[`${signature}\n`, `${signature}, ${signature}`, `sha256=${'0'.repeat(100_000)}`],
  ];
  for (const header of headers)
    assert.equal(verifySignature(body, header, [secret]), false, JSON.stringify(header?.slice(0, 90)));
});

test('each git server has its own header, and digits without a prefix count only if it sends them like that', () => {
  const hex = signature.slice('sha256='.length);
  const accepted = {
    'x-hub-signature-256': signature,
    'x-hub-signature': signature,
    'x-forgejo-signature': hex,
    'x-gitea-signature': hex,
    'x-gogs-signature': hex,
  };
  const isAccepted = (name: string, value: string) => verifyHeaders({ [name]: value }, body, [hmacKeyOf(secret)]);
  for (const [name, value] of Object.entries(accepted)) {
    assert.equal(isAccepted(name, value), true, name);
    assert.equal(isAccepted(name, value === hex ? signature : hex), false, name);
    assert.equal(isAccepted(name, value.replace(/^(sha256=)?./, '$1f')), false, name);
  }
});

test('one valid header among several is sufficient', () => {
  const headers = { 'x-hub-signature': `sha1=${'0'.repeat(40)}`, 'x-hub-signature-256': signature };
  assert.equal(verifyHeaders(headers, body, [hmacKeyOf(secret)]), true);
});
