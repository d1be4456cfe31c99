import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Annotations, annotationsOf } from '../../../receiver/annotations/annotations-of.ts';
import { createReadSecrets } from '../../../receiver/authentication/secrets.ts';
import { type Outcome, type Refusal, reasonOf } from '../../../receiver/outcome.ts';
import { signDelivery } from '../../../scripts/testbed/sign-delivery.ts';
import type { ResourceName } from '../../../shared/domain/kubernetes/object-name.ts';
import { RateLimit } from '../../../shared/domain/limits/rate-limit.ts';
import { ServerClock } from '../../../shared/io/kubernetes/server-clock.ts';
import { foreign, JSON_TYPE, startApp, stored } from './start-app.ts';

const path = '/webhook/team/demo';
const uuid = /^[0-9a-f-]{36}$/;
const readToken = createReadSecrets({ bearer: { value: 'token' } });
/** Headers of Standard Webhooks, signed at a time in seconds. */
const sign = (id: string, time: number, body: string) => ({
  ...JSON_TYPE,
  'webhook-id': id,
  'webhook-timestamp': String(time),
  'webhook-signature': `v1,${createHmac('sha256', 'key').update(`${id}.${time}.${body}`).digest('base64')}`,
});
const authorized = { ...JSON_TYPE, Authorization: 'Bearer token' };

suite('a delivery with a request', () => {
  test('gets 202 when it is stored, with the ref that was recognized', async (t) => {
    const app = await startApp(t);
    const before = Date.now();
    const { status, body } = await app.post(path, '{"ref":"v1.2.3"}');
    assert.equal(status, 202);
    assert.match(String(body.requestId), /^[0-9a-f-]{36}~[0-9a-f]{12}$/);
    assert.deepEqual(body, { accepted: true, ref: 'v1.2.3', source: 'generic', requestId: body.requestId });
    const [first] = app.stored;
    assert.deepEqual(first?.resource, { namespace: 'team', name: 'demo' });
    const [{ headers, seconds, ...record } = assert.fail('nothing was recorded')] = app.records;
    assert.deepEqual(record, {
      requestId: body.requestId,
      resource: { namespace: 'team', name: 'demo' },
      outcome: {
        kind: 'stored',
        ref: 'v1.2.3',
        source: 'generic',
        superseded: false,
        requestId: body.requestId,
        senderReason: undefined,
      },
    });
    assert.equal(headers['content-type'], 'application/json');
    assert.ok(seconds >= 0 && seconds <= (Date.now() - before + 1) / 1000, `${seconds}`);
    const { 'sync.io/requested-at': at = '', ...rest } = first?.annotations ?? {};
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Date.parse(at) >= before && Date.parse(at) <= Date.now());
    assert.deepEqual(rest, {
      'sync.io/requested-ref': 'v1.2.3',
      'sync.io/requested-by': 'generic',
      'sync.io/requested-repo': '-',
      'sync.io/request-id': body.requestId,
    });
  });

  test('leaves the annotations of a request unchanged if it is a push to a branch', async (t) => {
    const app = await startApp(t);
    const { status, body } = await app.post(path, '{"ref":"refs/heads/main"}', {
      ...authorized,
      'X-GitHub-Event': 'push',
    });
    assert.equal(status, 202);
    assert.equal(body.ref, 'refs/heads/main');
    assert.equal(body.source, 'github');
    const { 'sync.io/pushed-at': at, ...rest } = app.stored[0]?.annotations ?? {};
    assert.ok(Date.parse(at ?? '') <= Date.now());
    assert.deepEqual(rest, { 'sync.io/pushed-ref': 'refs/heads/main', 'sync.io/pushed-repo': '-' });
  });

  test('reports if a newer one replaced it', async (t) => {
    const app = await startApp(t, { result: { ...stored, superseded: true } });
    const { status, body } = await app.post(path, '{"ref":"v1"}');
    assert.equal(status, 202);
    assert.equal(body.superseded, true);
  });

  const failures: [what: string, result: Refusal, status: number, retryAfter?: string][] = [
    ['404 if the cluster has no such resource', { kind: 'refused', reason: 'NotFound' }, 404],
    [
      "503 with Retry-After if it couldn't be stored",
      { kind: 'refused', reason: 'ApiServerUnavailable', retryAfterSeconds: 7 },
      503,
      '7',
    ],
    ["500 without Retry-After if a retry can't help", { kind: 'refused', reason: 'ApiServerRefused' }, 500],
  ];
  for (const [what, result, status, retryAfter] of failures)
    test(`gets ${what}`, async (t) => {
      const app = await startApp(t, { result });
      const answer = await app.post(path, '{"ref":"v1"}');
      assert.deepEqual([answer.status, answer.headers['retry-after']], [status, retryAfter]);
      assert.deepEqual([answer.body.accepted, answer.body.reason], [false, result.reason]);
    });
});

test("a delivery without a request gets 200 with the reason, and isn't stored", async (t) => {
  const app = await startApp(t);
  const { status, body } = await app.post(path, '{"zen":"x"}', { ...authorized, 'X-GitHub-Event': 'ping' });
  assert.deepEqual([status, body.accepted, body.reason], [200, false, 'Ping']);
  assert.match(String(body.requestId), uuid);
  assert.deepEqual(app.stored, []);
});

test('an unauthorized delivery gets the same bytes whatever it contains', async (t) => {
  const app = await startApp(t);
  const answers = [
    await app.post(path, '{"ref":"v1"}', JSON_TYPE),
    await app.post('/webhook/team/no-such', '{"ref":"v1"}', JSON_TYPE),
    await app.post('/webhook/TEAM/..%2F..', '{"ref":"v1"}', JSON_TYPE),
    await app.post(path, 'no JSON', JSON_TYPE),
    await app.post(path, '{"ref":"v1"}', { 'Content-Type': 'text/plain' }),
    await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, Authorization: 'Bearer wrong' }),
    await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, Authorization: `Basic ${btoa('hook:wrong')}` }),
    await app.post(path, '{"zen":"x"}', { ...JSON_TYPE, 'X-GitHub-Event': 'ping' }),
  ];
  for (const { status, text, headers } of answers) {
    assert.equal(status, 401);
    assert.equal(text, answers[0]?.text);
    assert.match(String(headers['www-authenticate']), /^Bearer realm="webhook", Basic realm="webhook"/);
  }
  assert.deepEqual(app.stored, []);
});

suite('many failures from one address', () => {
  const limited = () => ({ failures: new RateLimit({ perMinute: 1, burst: 3, maxKeys: 10 }) });
  const wrong = { ...JSON_TYPE, Authorization: 'Bearer wrong' };
  const from = (...hops: string[]) => ({ ...wrong, 'X-Forwarded-For': hops.join(', ') });

  test('get 429 with Retry-After before the body is read', async (t) => {
    const app = await startApp(t, limited());
    for (let i = 0; i < 3; i++) assert.equal((await app.post(path, '{}', wrong)).status, 401);
    const { status, body, headers } = await app.post(path, 'x'.repeat(100_001), wrong);
    assert.equal(status, 429);
    assert.equal(body.reason, 'TooManyFailures');
    assert.ok(Number(headers['retry-after']) >= 1);
    assert.equal((await app.post(path, '{"ref":"v1"}', JSON_TYPE)).status, 429);
  });

  test("don't lock out a signed delivery from the same address, up to 64 KB", async (t) => {
    const readSecrets = createReadSecrets({ hmac: { value: 'key' } });
    const app = await startApp(t, { ...limited(), readSecrets });
    const signed = (body: string) => ({
      ...JSON_TYPE,
      'X-Hub-Signature-256': signDelivery(body, 'key'),
    });
    const fail = async () => (await app.post(path, '{}', signed('{ }'))).status;
    for (let i = 0; i < 3; i++) assert.equal(await fail(), 401);
    assert.equal(await fail(), 429);
    const large = '{"ref":"v1"}'.padEnd(64 * 1024 + 1);
    assert.equal((await app.post(path, large, signed(large))).status, 429);
    const usual = '{"ref":"v1"}'.padEnd(64 * 1024);
    assert.equal((await app.post(path, usual, signed(usual))).status, 202);
  });

  test('are checked at a limited rate', async (t) => {
    const secondLooks = new RateLimit({ perMinute: 1, burst: 2, maxKeys: 10 });
    const app = await startApp(t, {
      ...limited(),
      secondLooks,
      readSecrets: createReadSecrets({ hmac: { value: 'key' }, bearer: { value: '' } }),
    });
    const signature = signDelivery('{"ref":"v1"}', 'key');
    for (let i = 0; i < 5; i++) await app.post(path, '{}', wrong);
    const answer = await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, 'X-Hub-Signature-256': signature });
    assert.equal(answer.status, 429);
  });

  test("don't lock out a client with the token, which doesn't reset them", async (t) => {
    const app = await startApp(t, limited());
    for (let i = 0; i < 4; i++) await app.post(path, '{}', wrong);
    assert.equal((await app.post(path, '{"ref":"v1"}')).status, 202);
    assert.equal((await app.post(path, '{}', wrong)).status, 429, 'a sender with a secret of its own may guess others');
  });

  test("can't be hidden behind a forged X-Forwarded-For", async (t) => {
    const app = await startApp(t, limited());
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await app.post(path, '{}', from(`10.0.0.${i}`))).status);
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  });

  test('behind a trusted proxy count for the address that it reports, whatever precedes it', async (t) => {
    const app = await startApp(t, { ...limited(), trustedHops: 1 });
    for (let i = 0; i < 4; i++) await app.post(path, '{}', from(`10.9.9.${i}`, '10.0.0.1'));
    assert.equal((await app.post(path, '{}', from('10.0.0.2', '10.0.0.1'))).status, 429);
    assert.equal((await app.post(path, '{}', from('10.0.0.1', '10.0.0.2'))).status, 401);
  });
});

suite("a form, which is GitHub's default", () => {
  const readSecrets = createReadSecrets({ hmac: { value: 'key' }, bearer: { value: 'token' } });
  const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', 'X-GitHub-Event': 'push' };
  const formOf = (payload: string) => `payload=${encodeURIComponent(payload)}`;
  const signed = (form: string) => ({ ...FORM, 'X-Hub-Signature-256': signDelivery(form, 'key') });

  test('is accepted if the signature covers its raw bytes', async (t) => {
    const app = await startApp(t, { readSecrets });
    const json = '{"ref":"refs/tags/v1+ü","repository":{"full_name":"Org/re po"}}';
    const form = formOf(json);
    const { status, body } = await app.post(path, form, signed(form));
    assert.deepEqual([status, body.ref, body.source], [202, 'refs/tags/v1+ü', 'github']);
    assert.equal(app.stored[0]?.annotations['sync.io/requested-repo'], 'org/re%20po');
    const ofJson = { ...FORM, 'X-Hub-Signature-256': signDelivery(json, 'key') };
    assert.equal((await app.post(path, form, ofJson)).status, 401);
  });

  test('can have other fields, plus signs for spaces, and a charset', async (t) => {
    const app = await startApp(t, { readSecrets });
    const form = 'a=%zz&payload=%7B%22ref%22:+%22refs%2Fheads%2Fmain%22%7D&payload=x&b';
    const headers = { ...signed(form), 'Content-Type': 'Application/X-WWW-Form-URLencoded; charset=utf-8' };
    const { status, body } = await app.post(path, form, headers);
    assert.deepEqual([status, body.ref], [202, 'refs/heads/main']);
  });

  test("gets 400 if its payload is missing or isn't a bounded JSON object", async (t) => {
    const app = await startApp(t, { readSecrets });
    const forms = [
      ...['payload=', 'payload=%7B%', 'payload=%7B%ff%7D', '{"ref":"v1"}'],
      ...['payload=[]', formOf(`{"ref":${'['.repeat(101)}${']'.repeat(101)}}`)],
    ];
    for (const form of forms) {
      const { status, body } = await app.post(path, form, signed(form));
      assert.deepEqual([status, body.reason], [400, 'InvalidBody'], form);
    }
    const large = formOf(`{"ref":"refs/heads/main","x":"${'x'.repeat(100_000)}"}`);
    assert.equal((await app.post(path, large, signed(large))).status, 413);
    assert.deepEqual(app.stored, []);
  });

  test('is never JSON with a form in a text, because signatures cover no headers', async (t) => {
    const app = await startApp(t, { readSecrets });
    const forged = encodeURIComponent('{"ref":"refs/tags/forged"}');
    const push = `{"ref":"refs/heads/x","after":"1","sender":{},"head_commit":{"message":"a&payload=${forged}&b"}}`;
    const { status, body } = await app.post(path, push, signed(push));
    assert.deepEqual([status, body.reason, app.stored], [400, 'InvalidBody', []]);
    const ofGitea = { ...FORM, 'X-Gitea-Signature': signDelivery(push, 'key').replace('sha256=', '') };
    assert.equal((await app.post(path, push, ofGitea)).status, 401);
  });

  test('from another sender gets 415', async (t) => {
    const app = await startApp(t, { readSecrets });
    const { 'X-GitHub-Event': _, ...others } = signed('payload=%7B%7D');
    for (const headers of [others, { ...others, 'X-Gitlab-Event': 'Push Hook' }, { ...others, 'X-Event-Key': 'x' }])
      assert.equal((await app.post(path, 'payload=%7B%7D', headers)).status, 415);
  });
});

suite('a form of Gitea, Forgejo, or Gogs', () => {
  const readSecrets = createReadSecrets({ hmac: { value: 'key' }, bearer: { value: 'token' } });
  const json = '{"ref":"refs/tags/v1+ü","before":"0","after":"1"}';
  const form = `payload=${encodeURIComponent(json).replaceAll('%20', '+')}`;
  const hexOf = (text: string, key = 'key') => signDelivery(text, key).replace('sha256=', '');
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' };

  const headersOf = (sender: string, hex: string) => ({
    ...type,
    [`X-${sender}-Event`]: 'push',
    [`X-${sender}-Signature`]: hex,
  });

  for (const sender of ['Gitea', 'Forgejo', 'Gogs'])
    test(`is accepted if the signature covers the JSON in it: ${sender}`, async (t) => {
      const app = await startApp(t, { readSecrets });
      const { status, body } = await app.post(path, form, headersOf(sender, hexOf(json)));
      assert.deepEqual([status, body.ref, body.source], [202, 'refs/tags/v1+ü', 'gitea']);
      const withToken = { ...headersOf(sender, ''), Authorization: 'Bearer token' };
      assert.equal((await app.post(path, form, withToken)).status, 202);
    });

  test('is refused if the signature is of another secret or of other bytes', async (t) => {
    const app = await startApp(t, { readSecrets });
    for (const [sent, hex] of [
      [form, hexOf(json, 'other')],
      [form, hexOf('')],
      [form.replace('v1', 'v2'), hexOf(json)],
      ['payload=%', hexOf(json)],
      [`payload=%7B%7D&${form}`, hexOf(json)],
    ] as const)
      assert.equal((await app.post(path, sent, headersOf('Gogs', hex))).status, 401, sent);
    assert.deepEqual(app.stored, []);
  });

  test('is also accepted with the headers of GitHub that Gitea adds', async (t) => {
    const app = await startApp(t, { readSecrets });
    const events = { 'X-GitHub-Event': 'push', 'X-Gogs-Event': 'push', 'X-Gitea-Event': 'push' };
    const hex = hexOf(json);
    const signatures = { 'X-Hub-Signature-256': `sha256=${hex}`, 'X-Gogs-Signature': hex, 'X-Gitea-Signature': hex };
    assert.equal((await app.post(path, form, { ...type, ...events, ...signatures })).status, 202);
  });

  test('can be large', async (t) => {
    const app = await startApp(t, { readSecrets });
    const large = JSON.stringify({
      ...JSON.parse(json),
      commits: Array.from({ length: 1500 }, (_, n) => `commit ü ${n}`),
    });
    const headers = { ...type, 'X-Gogs-Event': 'push', 'X-Gogs-Signature': hexOf(large) };
    const body = `payload=${encodeURIComponent(large)}`;
    assert.ok(large.length > 16 * 1024, String(large.length));
    assert.equal((await app.post(path, body, headers)).status, 202);
    assert.equal((await app.post(path, body.replace('1499', '1498'), headers)).status, 401);
  });
});

suite('a malformed request', () => {
  test("gets 400 if the body isn't a JSON object, or the ref isn't a git ref", async (t) => {
    const app = await startApp(t);
    for (const body of ['', '[]', Buffer.from([0x7b, 0xff, 0x7d]), '{"ref":"a b"}']) {
      const answer = await app.post(path, body);
      assert.deepEqual([answer.status, answer.body.accepted], [400, false], String(body));
      assert.ok(answer.body.error);
    }
    assert.deepEqual(app.stored, []);
  });

  test('gets 404 if the path names an impossible resource, after authentication', async (t) => {
    const app = await startApp(t);
    for (const bad of ['/webhook/TEAM/demo', '/webhook/team/a%2Fb', '/webhook/team%2Fdemo/x']) {
      const { status, body } = await app.post(bad, '{"ref":"v1"}');
      assert.deepEqual([status, body.reason], [404, 'NotFound'], bad);
    }
    assert.deepEqual(app.stored, []);
  });

  test('gets 404 on every other path, without an echo of it', async (t) => {
    const app = await startApp(t);
    for (const other of ['/', '/webhook/team', '/webhook/team/demo/more', '/%3Cscript%3E']) {
      const { status, body, text } = await app.post(other, '{"ref":"v1"}');
      assert.deepEqual([status, body.reason], [404, 'NoSuchPath'], other);
      assert.ok(!text.includes('script'));
    }
  });

  test('gets 405 with the allowed method', async (t) => {
    const app = await startApp(t);
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const answer = await app.send({ method, path });
      assert.equal(answer.status, 405, method);
      assert.equal(answer.headers.allow, 'POST');
    }
  });

  test("gets 415 if its media type isn't JSON", async (t) => {
    const app = await startApp(t);
    const token = { Authorization: 'Bearer token' };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', ''])
      assert.equal((await app.post(path, '{"ref":"v1"}', { ...token, 'Content-Type': type })).status, 415, type);
    assert.equal((await app.post(path, '{"ref":"v1"}', token)).status, 415);
    for (const type of ['Application/JSON; charset=utf-8', 'application/cloudevents+json;x=y'])
      assert.equal((await app.post(path, '{"ref":"v1"}', { ...token, 'Content-Type': type })).status, 202, type);
  });

  test('with an invalid percent escape gets 400 without an echo', async (t) => {
    const app = await startApp(t);
    const answer = await app.post('/webhook/team/%zz', '{"ref":"v1"}');
    assert.equal(answer.status, 400);
    assert.equal(answer.text, '{"accepted":false,"reason":"MalformedRequest","error":"malformed request"}');
  });
});

test('the resource in the path of a delivery decides which secret counts and which object is patched', async (t) => {
  const asked: unknown[] = [];
  const readSecrets = async (given: ResourceName) => {
    asked.push(given);
    return await readToken(given);
  };
  const app = await startApp(t, { readSecrets });
  for (const target of ['http://example.com/webhook/team/demo', '/webhook/team/dem%6f?x=/y', '/webhook/team/demo/']) {
    assert.equal((await app.post(target, '{"ref":"v1"}')).status, 202);
    assert.deepEqual(asked.pop(), { namespace: 'team', name: 'demo' });
    assert.deepEqual(app.stored.pop()?.resource, { namespace: 'team', name: 'demo' });
  }
});

test('an encoded body gets 415, even if the media type is right', async (t) => {
  const app = await startApp(t);
  const post = (encoding: string, body: string | Buffer) =>
    app.post(path, body, { ...authorized, 'Content-Encoding': encoding });
  const { status, body } = await post('identity, gzip', gzipSync('{"ref":"v1"}'));
  assert.deepEqual([status, body.reason], [415, 'EncodedBody']);
  assert.equal((await post('identity', '{"ref":"v1"}')).status, 202);
});

suite('a delivery for another repository', () => {
  const readSecrets = createReadSecrets({ hmac: { value: 'key' } });
  const push = '{"ref":"refs/tags/v1","repository":{"full_name":"Team/Other"}}';

  test('gets 200 with the repository, and is accepted when it is sent again after an edit', async (t) => {
    let result: Outcome = foreign;
    const app = await startApp(t, { readSecrets, enqueue: async () => result });
    const headers = { ...sign('msg_1', Math.floor(Date.now() / 1000), push), 'X-GitHub-Event': 'push' };
    const { status, body } = await app.post(path, push, headers);
    const { requestId } = body;
    assert.equal(status, 200);
    const answer = { accepted: false, reason: 'OtherRepository', source: 'github', repository: 'team/other' };
    assert.deepEqual(body, { ...answer, requestId });
    result = stored;
    assert.equal((await app.post(path, push, headers)).status, 202);
    assert.equal((await app.post(path, push, headers)).body.reason, 'Replayed');
  });

  test('of Kargo is tried for each repository of the freight, until one is that of the resource', async (t) => {
    const tried: Annotations[] = [];
    const app = await startApp(t, {
      enqueue: async (_resource, delivery) => {
        tried.push(annotationsOf(delivery, new Date()));
        return tried.at(-1)?.['sync.io/requested-repo'] === 'org/b' ? { ...stored, ref: delivery.ref } : foreign;
      },
    });
    const commits = ['a', 'b', 'c'].map((name) => ({ repoURL: `https://git.test/org/${name}.git`, tag: `v-${name}` }));
    const { status, body } = await app.post(path, JSON.stringify({ freight: { commits } }));
    assert.deepEqual([status, body.ref], [202, 'v-b']);
    const refs = tried.map((each) => each['sync.io/requested-ref']);
    assert.deepEqual(refs, ['v-a', 'v-b']);
    const other = await app.post(path, JSON.stringify({ commits: [commits[0], commits[2]] }));
    assert.deepEqual([other.status, other.body.accepted, other.body.reason], [200, false, 'OtherRepository']);
  });
});

suite('a signature with a time', () => {
  const readSecrets = createReadSecrets({ hmac: { value: 'key' } });
  const body = '{"ref":"v1"}';
  const minutesAgo = (minutes: number) => Math.floor(Date.now() / 1000) - 60 * minutes;

  test("is checked by the API server's clock, whatever the clock of this machine", async (t) => {
    const clock = new ServerClock();
    clock.observe(new Date(Date.now() - 3_600_000).toUTCString());
    const app = await startApp(t, { readSecrets, clock });
    assert.equal((await app.post(path, body, sign('msg_1', minutesAgo(60), body))).status, 202);
    assert.equal((await app.post(path, body, sign('msg_2', minutesAgo(0), body))).body.reason, 'Expired');
  });

  test('is refused with a reason of its own if only the time is wrong, in the past or the future', async (t) => {
    const app = await startApp(t, { readSecrets });
    for (const minutes of [6, -6, 600_000]) {
      const answer = await app.post(path, body, sign('msg', minutesAgo(minutes), body));
      assert.deepEqual([answer.status, answer.body.reason], [401, 'Expired'], String(minutes));
      assert.ok(answer.headers['www-authenticate']);
      assert.equal(answer.body.requestId, undefined);
    }
    const forged = { ...sign('msg', minutesAgo(6), body), 'webhook-id': 'other' };
    assert.equal((await app.post(path, body, forged)).body.reason, 'Unauthorized');
    assert.deepEqual(app.stored, []);
  });

  test("doesn't count as a failure, even from an address with too many, and reveals nothing about a resource", async (t) => {
    const failures = new RateLimit({ perMinute: 1, burst: 2, maxKeys: 10 });
    const app = await startApp(t, { readSecrets, failures });
    const late = () => app.post(path, body, sign('msg', minutesAgo(6), body));
    for (let i = 0; i < 5; i++) assert.equal((await late()).status, 401);
    for (let i = 0; i < 3; i++) await app.post(path, body, JSON_TYPE);
    assert.equal((await app.post(path, body, JSON_TYPE)).status, 429);
    assert.equal((await late()).body.reason, 'Expired');
    assert.equal((await app.post(path, body, sign('msg', minutesAgo(0), body))).status, 202);
    const nowhere = await app.post('/webhook/TEAM/..%2F..', body, sign('msg', minutesAgo(6), body));
    assert.equal(nowhere.body.reason, 'Expired');
  });
});

suite('a replayed delivery', () => {
  const readSecrets = createReadSecrets({ hmac: { value: 'key' } });
  const now = () => Math.floor(Date.now() / 1000);
  const body = '{"ref":"v1"}';

  test("gets 200 and isn't stored, while its sender can retry", async (t) => {
    const app = await startApp(t, { readSecrets });
    const time = now();
    const headers = sign('msg_1', time, body);
    assert.equal((await app.post(path, body, headers)).status, 202);
    const copy = await app.post(path, body, headers);
    assert.deepEqual([copy.status, copy.body.accepted, copy.body.reason], [200, false, 'Replayed']);
    assert.equal((await app.post(path, body, sign('msg_1', time - 1, body))).status, 202, 'signed for another time');
    assert.equal((await app.post(path, body, sign('msg_2', now(), body))).status, 202);
    const other = await app.post('/webhook/team/other', body, headers);
    assert.equal(other.status, 202, 'one message may go to several resources');
    assert.equal(app.stored.length, 4);
  });

  test("is accepted if the first one couldn't be stored", async (t) => {
    let isAway = true;
    const enqueue = async (): Promise<Outcome> =>
      isAway ? { kind: 'refused', reason: 'ApiServerUnavailable' } : stored;
    const app = await startApp(t, { readSecrets, enqueue });
    const headers = sign('msg_1', now(), body);
    assert.equal((await app.post(path, body, headers)).status, 503);
    isAway = false;
    assert.equal((await app.post(path, body, headers)).status, 202);
  });
});

suite('the log entry of a request', () => {
  test('exists for every response, even outside all routes, with its outcome and its reason', async (t) => {
    const app = await startApp(t);
    await app.post(path, '{"ref":"v1"}');
    await app.post(path, '{"ref":"v1"}', JSON_TYPE);
    await app.post(path, '{"commits":[]}');
    await app.post('/', '{}');
    await app.post('/webhook/team/%zz', '{}');
    await app.send({ method: 'DELETE', path });
    assert.deepEqual(
      app.records.map(({ outcome }) => `${outcome.kind} ${reasonOf(outcome)}`),
      [
        ...['stored ', 'refused Unauthorized', 'ignored NoRef', 'refused NoSuchPath', 'refused MalformedRequest'],
        'refused MethodNotAllowed',
      ],
    );
  });

  test('is an internal error without details if the program is at fault', async (t) => {
    const app = await startApp(t, { readSecrets: () => Promise.reject(new Error('secret detail')) });
    const { status, text } = await app.post(path, '{"ref":"v1"}');
    assert.equal(status, 500);
    assert.equal(text, '{"accepted":false,"reason":"InternalError","error":"internal error"}');
    assert.deepEqual(app.reasons(), ['InternalError']);
  });
});
