import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { authorize as authorizeSigned } from '../../../../receiver/authentication/authorize.ts';
import { hmacKeyOf } from '../../../../receiver/authentication/hmac-key.ts';
import { tokenDigest, verifyToken as verifyDigests } from '../../../../receiver/authentication/verify-token.ts';
import { signDelivery } from '../../../../scripts/testbed/sign-delivery.ts';

const body = Buffer.from('{"ref":"v1"}');
const signature = signDelivery(body, 'key');
const signed = { 'x-hub-signature-256': signature };
const withToken = { authorization: 'Bearer token' };

interface Secrets {
  hmac: string[] | undefined;
  bearer: string[] | undefined;
}

const verifyHeaders = (headers: Record<string, string | undefined>, tokens: string[]) =>
  verifyDigests(headers, tokens.map(tokenDigest));
const verifyToken = (header: string | undefined, tokens: string[]) => verifyHeaders({ authorization: header }, tokens);
const authorize = (headers: Record<string, string>, bytes: Buffer, { hmac, bearer }: Secrets) => {
  const secrets = { hmac: hmac?.map(hmacKeyOf), bearer: bearer?.map(tokenDigest) };
  return authorizeSigned({ headers, body: bytes, at: new Date() }, secrets).kind === 'authorized';
};

suite('a bearer token', () => {
  test('is accepted under a scheme in any case', () => {
    for (const header of ['Bearer token', 'bearer token', 'BEARER  token']) {
      assert.equal(verifyToken(header, ['other', 'token']), true, header);
    }
  });

  test('is compared by its bytes', () => {
    const asNodeGivesIt = Buffer.from('Bearer gehëim').toString('latin1');
    assert.equal(verifyToken(asNodeGivesIt, ['gehëim']), true);
  });

  test('in any other form is rejected without an error', () => {
    const headers = [
      ...[undefined, '', 'Bearer', 'Bearer ', 'token', 'Basic token', 'Bearer tokens', 'Bearer toke', 'Bearertoken'],
      ...['Bearer token, Bearer token', `Bearer ${'x'.repeat(100_000)}`],
    ];
    for (const header of headers)
      assert.equal(verifyToken(header, ['token']), false, JSON.stringify(header?.slice(0, 40)));
    assert.equal(verifyToken('Bearer token', []), false);
  });
});

suite('Basic authentication', () => {
  const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

  test('is accepted with the token as the password of any user', () => {
    for (const user of ['', 'hook', 'a b', 'tök', 'x'.repeat(1000)])
      assert.equal(verifyToken(basic(`${user}:token`), ['other', 'token']), true, user);
    assert.equal(verifyToken(basic('hook:to:ken'), ['to:ken']), true);
    assert.equal(verifyToken(basic('hook:gehëim'), ['gehëim']), true);
    assert.equal(verifyToken(`bASIC  ${btoa('hook:token')}`, ['token']), true);
  });

  test('with another password is rejected', () => {
    for (const password of ['', 'tokens', 'toke', 'token ', 'Token', ':token', 'token:'])
      assert.equal(verifyToken(basic(`token:${password}`), ['token']), false, password);
    assert.equal(verifyToken(basic('hook:token'), []), false);
    assert.equal(verifyToken(basic('hook:'), ['']), false);
  });

  test('in a malformed header is rejected without an error', () => {
    const whole = btoa('hooks:token');
    assert.match(whole, /[^=]=$/);
    const headers = [
      ...['Basic', 'Basic ', 'Basic =', 'Basic hook:token', `Basic${whole}`, `Basic ${whole} `, `Basic ${whole}=`],
      ...[`Basic ${whole.slice(0, -1)}`, `Basic ${whole}, Basic ${whole}`, `Basic -${whole}`, `Basic ${whole}\u0000`],
      ...[`Basic ${whole.slice(0, 4)} ${whole.slice(4)}`, basic('token'), `Basic ${'A'.repeat(100_000)}`],
    ];
    for (const header of headers) assert.equal(verifyToken(header, ['token']), false, header.slice(0, 60));
  });

  test("isn't accepted if only a signature is configured", () => {
    const headers = { authorization: basic('hook:key') };
    assert.equal(authorize(headers, body, { hmac: ['key'], bearer: undefined }), false);
    assert.equal(authorize(headers, body, { hmac: ['other'], bearer: ['key'] }), true);
  });
});

test("GitLab's token counts as the bearer token", () => {
  assert.equal(verifyHeaders({ 'x-gitlab-token': 'token' }, ['token']), true);
  for (const value of ['', 'Bearer token', 'tokens', 'toke']) {
    assert.equal(verifyHeaders({ 'x-gitlab-token': value }, ['token']), false, value);
  }
  assert.equal(verifyHeaders({ 'x-gitlab-token': 'key' }, []), false);
});

suite('a delivery', () => {
  test('is authorized by either method if both are configured', () => {
    const secrets = { hmac: ['key'], bearer: ['token'] };
    assert.equal(authorize(signed, body, secrets), true);
    assert.equal(authorize(withToken, body, secrets), true);
    assert.equal(authorize({ ...signed, authorization: 'Bearer wrong' }, body, secrets), true);
    assert.equal(authorize({ ...withToken, 'x-hub-signature-256': 'sha256=wrong' }, body, secrets), true);
    assert.equal(authorize({}, body, secrets), false);
  });

  test("is never authorized by a method that isn't configured", () => {
    assert.equal(authorize(withToken, body, { hmac: ['key'], bearer: undefined }), false);
    assert.equal(authorize(signed, body, { hmac: undefined, bearer: ['token'] }), false);
  });

  test('is never authorized if a configured method has no secret', () => {
    for (const secrets of [
      { hmac: [], bearer: undefined },
      { hmac: undefined, bearer: [] },
      { hmac: [], bearer: [] },
    ]) {
      assert.equal(authorize({ ...signed, ...withToken }, body, secrets), false);
      assert.equal(authorize({}, body, secrets), false);
    }
  });

  test('without credentials is authorized only if neither method is configured', () => {
    assert.equal(authorize({}, body, { hmac: undefined, bearer: undefined }), true);
  });
});
