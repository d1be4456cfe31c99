import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { hmacKeyOf } from '../../../../receiver/authentication/hmac-key.ts';
import {
  type Signed,
  verifyStandardWebhook as verifyWithKeys,
} from '../../../../receiver/authentication/verify-standard-webhook.ts';

const check = (signed: Signed, secrets: string[]) => verifyWithKeys(signed, secrets.map(hmacKeyOf));
const verifyStandardWebhook = (signed: Signed, secrets: string[]) => check(signed, secrets).kind === 'valid';

// The example of the specification's reference libraries.
const key = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const secret = `whsec_${key}`;
const body = Buffer.from('{"test": 2432232314}');
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const time = 1_614_265_330;
const at = new Date(time * 1000);
const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const headers = { 'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': signature };

test('the signature of the reference libraries is accepted', () => {
  assert.equal(verifyStandardWebhook({ headers, body, at }, ['other', secret]), true);
});

test('a secret without the prefix is used as the key itself', () => {
  const mac = createHmac('sha256', 'plain').update(`${id}.${time}.`).update(body).digest('base64');
  const signed = { ...headers, 'webhook-signature': `v1,${mac}` };
  assert.equal(verifyStandardWebhook({ headers: signed, body, at }, ['plain']), true);
  assert.equal(verifyStandardWebhook({ headers: signed, body, at }, [secret]), false);
});

test('one valid signature of the known version among several is sufficient, for a key rotation', () => {
  const accepts = (value: string) =>
    verifyStandardWebhook({ headers: { ...headers, 'webhook-signature': value }, body, at }, [secret]);
  assert.equal(accepts(`v1a,xyz ${signature}`), true);
  assert.equal(accepts(`${'v1a,xyz '.repeat(9)}${signature}`), true, 'the tenth');
  assert.equal(accepts(`${'v1a,xyz '.repeat(10)}${signature}`), false, 'more are not looked at');
  for (const value of ['', 'v1,', signature.replace('v1', 'v2'), signature.slice(3), `${signature},${signature}`])
    assert.equal(accepts(value), false, value);
});

test('a delivery that was signed more than five minutes ago or in the future is rejected', () => {
  const acceptsAfter = (seconds: number) =>
    verifyStandardWebhook({ headers, body, at: new Date((time + seconds) * 1000) }, [secret]);
  assert.deepEqual([-301, -300, 0, 300, 301].map(acceptsAfter), [false, true, true, true, false]);
});

test('a signature from another time is expired only if it is right', () => {
  const late = new Date((time + 301) * 1000);
  assert.deepEqual(check({ headers, body, at: late }, ['other', secret]), { kind: 'expired', signedAt: at });
  assert.equal(check({ headers, body, at: late }, ['other']).kind, 'invalid');
  assert.equal(check({ headers, body: Buffer.from('{}'), at: late }, [secret]).kind, 'invalid');
  assert.equal(check({ headers: { ...headers, 'webhook-timestamp': '1' }, body, at: late }, [secret]).kind, 'invalid');
});

test('a changed or missing body, ID, or time is rejected', () => {
  const { 'webhook-id': _id, ...withoutId } = headers;
  const { 'webhook-timestamp': _time, ...withoutTime } = headers;
  for (const changed of [
    { ...headers, 'webhook-id': 'x' },
    { ...headers, 'webhook-timestamp': String(time + 1) },
    { ...headers, 'webhook-timestamp': 'yesterday' },
    { ...headers, 'webhook-timestamp': `${time}.0` },
    withoutId,
    withoutTime,
  ]) {
    assert.equal(verifyStandardWebhook({ headers: changed, body, at }, [secret]), false);
  }
  assert.equal(verifyStandardWebhook({ headers, body: Buffer.from('{}'), at }, [secret]), false);
  assert.equal(verifyStandardWebhook({ headers, body, at }, []), false);
});

test("a time that isn't a number is invalid even with a right signature, and no failure of the server", () => {
  for (const text of [`x${time}`, `${time}x`, '', '-1', '1e9', '1'.repeat(13)]) {
    const mac = createHmac('sha256', 'plain').update(`${id}.${text}.`).update(body).digest('base64');
    const signed = { ...headers, 'webhook-timestamp': text, 'webhook-signature': `v1,${mac}` };
    assert.equal(check({ headers: signed, body, at }, ['plain']).kind, 'invalid', text);
  }
});
