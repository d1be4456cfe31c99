import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { StoreResult } from '../../../receiver/annotations/annotation-queue.ts';
import { type Annotations, annotationsOf } from '../../../receiver/annotations/annotations-of.ts';
import { reasonOf } from '../../../receiver/routes/outcome.ts';
import { signDelivery } from '../../../scripts/testbed/sign-delivery.ts';
import { RateLimit } from '../../../shared/domain/rate-limit.ts';
import { JSON_TYPE, startApp } from './start-app.ts';

const path = '/webhook/team/demo';
const uuid = /^[0-9a-f-]{36}$/;
const gitlabRelease = (created_at: unknown) =>
  JSON.stringify({ object_kind: 'release', action: 'create', tag: 'v1', created_at });
const authorized = { ...JSON_TYPE, Authorization: 'Bearer token' };

suite('a delivery that asks for something', () => {
  test('is answered 202 when it is stored, and says what was taken for the ref', async (t) => {
    const app = await startApp(t);
    const before = Date.now();
    const { status, body } = await app.post(path, '{"ref":"v1.2.3"}');
    assert.equal(status, 202);
    assert.match(String(body.requestId), uuid);
    assert.deepEqual(body, { accepted: true, ref: 'v1.2.3', source: 'generic', requestId: body.requestId });
    const [stored] = app.stored;
    assert.deepEqual(stored?.target, { namespace: 'team', name: 'demo' });
    const [{ headers, seconds, ...record } = assert.fail('nothing was recorded')] = app.records;
    assert.deepEqual(record, {
      requestId: body.requestId,
      target: { namespace: 'team', name: 'demo' },
      outcome: { kind: 'stored', ref: 'v1.2.3', source: 'generic', superseded: false, senderReason: undefined },
    });
    assert.equal(headers['content-type'], 'application/json');
    assert.ok(seconds >= 0 && seconds <= (Date.now() - before + 1) / 1000, `${seconds}`);
    const { 'sync.io/requested-at': at = '', ...rest } = stored?.annotations ?? {};
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Date.parse(at) >= before && Date.parse(at) <= Date.now());
    assert.deepEqual(rest, {
      'sync.io/requested-ref': 'v1.2.3',
      'sync.io/requested-by': 'generic',
      'sync.io/requested-repo': '-',
      'sync.io/request-id': body.requestId,
    });
  });

  test('as a push to a branch leaves the annotations of a request alone', async (t) => {
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

  test('says so when a newer one took its place', async (t) => {
    const app = await startApp(t, { result: { kind: 'stored', superseded: true } });
    const { status, body } = await app.post(path, '{"ref":"v1"}');
    assert.equal(status, 202);
    assert.equal(body.superseded, true);
  });

  test('has an id of its own each time', async (t) => {
    const app = await startApp(t);
    for (let i = 0; i < 20; i++) await app.post(path, '{"ref":"v1"}');
    assert.equal(new Set(app.stored.map(({ annotations }) => annotations['sync.io/request-id'])).size, 20);
  });

  test('is answered 404 when the cluster has no such resource', async (t) => {
    const app = await startApp(t, { result: { kind: 'failed', reason: 'NotFound' } });
    const { status, body } = await app.post(path, '{"ref":"v1"}');
    assert.equal(status, 404);
    assert.equal(body.accepted, false);
    assert.ok(body.error);
  });

  test('is answered 503 with Retry-After when it could not be stored', async (t) => {
    const app = await startApp(t, {
      result: { kind: 'failed', reason: 'ApiServerUnavailable', details: { retryAfterMs: 7000 } },
    });
    const { status, body, headers } = await app.post(path, '{"ref":"v1"}');
    assert.equal(status, 503);
    assert.equal(headers['retry-after'], '7');
    assert.equal(body.accepted, false);
  });
});

suite('a delivery that asks for nothing', () => {
  const cases: [string, string, Record<string, string>, string][] = [
    ['ping', '{"zen":"x"}', { 'X-GitHub-Event': 'ping' }, 'Ping'],
    ['delete', '{"ref":"refs/heads/x","deleted":true}', { 'X-GitHub-Event': 'push' }, 'Deleted'],
    [
      'edited release',
      '{"action":"edited","release":{"tag_name":"v1"}}',
      { 'X-GitHub-Event': 'release' },
      'NotPublished',
    ],
    ['event with no ref', '{}', { 'X-GitHub-Event': 'push' }, 'NoRef'],
    ['application without a ref', '{"app":{"metadata":{}}}', {}, 'NoRef'],
  ];
  for (const [name, body, headers, reason] of cases) {
    test(`(${name}) is answered 200 with the reason, and nothing is stored`, async (t) => {
      const app = await startApp(t);
      const answer = await app.post(path, body, { ...authorized, ...headers });
      assert.equal(answer.status, 200);
      assert.equal(answer.body.accepted, false);
      assert.equal(answer.body.reason, reason);
      assert.match(String(answer.body.requestId), uuid);
      assert.deepEqual(app.stored, []);
    });
  }
});

suite('a delivery that is not authorized', () => {
  test('is answered with the same bytes whatever it asks for', async (t) => {
    const app = await startApp(t);
    const answers = [
      await app.post(path, '{"ref":"v1"}', JSON_TYPE),
      await app.post('/webhook/team/no-such', '{"ref":"v1"}', JSON_TYPE),
      await app.post('/webhook/TEAM/..%2F..', '{"ref":"v1"}', JSON_TYPE),
      await app.post(path, 'no JSON', JSON_TYPE),
      await app.post(path, '{"ref":"v1"}', { 'Content-Type': 'text/plain' }),
      await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, Authorization: 'Bearer wrong' }),
      await app.post(path, '{"zen":"x"}', { ...JSON_TYPE, 'X-GitHub-Event': 'ping' }),
    ];
    for (const { status, text, headers } of answers) {
      assert.equal(status, 401);
      assert.equal(text, answers[0]?.text);
      assert.equal(headers['www-authenticate'], 'Bearer');
    }
    assert.deepEqual(app.stored, []);
  });

  test('never ends in an error, whatever its signature looks like', async (t) => {
    const app = await startApp(t, { readSecrets: async () => ({ hmac: ['key'], bearer: undefined }) });
    const good = signDelivery('{"ref":"v1"}', 'key');
    const hostile = [
      '',
      'sha256',
      'sha256=',
      'sha256=zz',
      good.slice(0, -2),
      `${good}00`,
      'sha1=00',
      'x'.repeat(8000),
      [good, good],
    ];
    for (const signature of hostile) {
      const answer = await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, 'X-Hub-Signature-256': signature });
      assert.equal(answer.status, 401, JSON.stringify(signature).slice(0, 80));
      assert.ok(!answer.text.includes(good));
    }
    assert.equal((await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, 'X-Hub-Signature-256': good })).status, 202);
  });

  test('is told apart from a signed one by the raw bytes', async (t) => {
    const app = await startApp(t, { readSecrets: async () => ({ hmac: ['key'], bearer: undefined }) });
    const signature = signDelivery('{"ref":"v1"}', 'key');
    const headers = { ...JSON_TYPE, 'X-Hub-Signature-256': signature };
    assert.equal((await app.post(path, '{"ref": "v1"}', headers)).status, 401);
    assert.equal((await app.post(path, '{"ref":"v1"}', headers)).status, 202);
  });
});

suite('many failures from one address', () => {
  const limited = () => ({ failures: new RateLimit({ perMinute: 60, burst: 3, maxKeys: 10 }) });
  const wrong = { ...JSON_TYPE, Authorization: 'Bearer wrong' };
  const from = (...hops: string[]) => ({ ...wrong, 'X-Forwarded-For': hops.join(', ') });

  test('are answered 429 with Retry-After before the body is read', async (t) => {
    const app = await startApp(t, limited());
    for (let i = 0; i < 3; i++) assert.equal((await app.post(path, '{}', wrong)).status, 401);
    const { status, body, headers } = await app.post(path, 'x'.repeat(100_001), wrong);
    assert.equal(status, 429);
    assert.equal(body.reason, 'TooManyFailures');
    assert.ok(Number(headers['retry-after']) >= 1);
    assert.equal((await app.post(path, '{"ref":"v1"}', JSON_TYPE)).status, 429);
  });

  test('of an attacker do not lock out a signed delivery from the same address, up to 64 KB', async (t) => {
    const readSecrets = async () => ({ hmac: ['key'], bearer: undefined });
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

  test('are checked at a bounded rate', async (t) => {
    const secondLooks = new RateLimit({ perMinute: 1, burst: 2, maxKeys: 10 });
    const app = await startApp(t, {
      ...limited(),
      secondLooks,
      readSecrets: async () => ({ hmac: ['key'], bearer: [] }),
    });
    const signature = signDelivery('{"ref":"v1"}', 'key');
    for (let i = 0; i < 5; i++) await app.post(path, '{}', wrong);
    const answer = await app.post(path, '{"ref":"v1"}', { ...JSON_TYPE, 'X-Hub-Signature-256': signature });
    assert.equal(answer.status, 429);
  });

  test('do not lock out who has the token, and are not forgotten with it', async (t) => {
    const app = await startApp(t, limited());
    for (let i = 0; i < 4; i++) await app.post(path, '{}', wrong);
    assert.equal((await app.post(path, '{"ref":"v1"}')).status, 202);
    assert.equal((await app.post(path, '{}', wrong)).status, 429, 'a sender with a secret of its own may guess others');
  });

  test('cannot be hidden behind a forged X-Forwarded-For', async (t) => {
    const app = await startApp(t, limited());
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await app.post(path, '{}', from(`10.0.0.${i}`))).status);
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  });

  test('behind a trusted proxy count for the address that it tells, whatever stands before that', async (t) => {
    const app = await startApp(t, { ...limited(), trustedHops: 1 });
    for (let i = 0; i < 4; i++) await app.post(path, '{}', from(`10.9.9.${i}`, '10.0.0.1'));
    assert.equal((await app.post(path, '{}', from('10.0.0.2', '10.0.0.1'))).status, 429);
    assert.equal((await app.post(path, '{}', from('10.0.0.1', '10.0.0.2'))).status, 401);
  });
});

suite('a request of the wrong form', () => {
  test('is answered 400 where the body is no JSON object', async (t) => {
    const app = await startApp(t);
    for (const body of ['', '[]', '"v1"', 'null', '1', '{', 'ref=v1', Buffer.from([0x7b, 0xff, 0x7d])]) {
      const answer = await app.post(path, body);
      assert.equal(answer.status, 400, String(body));
      assert.equal(answer.body.accepted, false);
      assert.ok(answer.body.error);
    }
  });

  test('is answered 400 where the ref is no git ref', async (t) => {
    const app = await startApp(t);
    for (const ref of ['', '-x', 'a b', 'a..b', 42, [], {}]) {
      assert.equal((await app.post(path, JSON.stringify({ ref }))).status, 400, JSON.stringify(ref));
    }
    assert.deepEqual(app.stored, []);
  });

  test('is answered 404 where the path names nothing that can exist, after authentication', async (t) => {
    const app = await startApp(t);
    for (const bad of [
      '/webhook/TEAM/demo',
      '/webhook/team/a%2Fb',
      '/webhook/team/a_b',
      '/webhook/a.b/demo',
      `/webhook/team/${'x'.repeat(254)}`,
    ]) {
      const answer = await app.post(bad, '{"ref":"v1"}');
      assert.equal(answer.status, 404, bad);
      assert.equal(answer.body.accepted, false);
    }
    assert.deepEqual(app.stored, []);
  });

  test('is answered 404 on every other path, without an echo of it', async (t) => {
    const app = await startApp(t);
    for (const other of ['/', '/webhook', '/webhook/team', '/webhook/team/demo/more', '/healthz', '/%3Cscript%3E']) {
      const answer = await app.post(other, '{"ref":"v1"}');
      assert.equal(answer.status, 404, other);
      assert.equal(answer.text, '{"accepted":false,"reason":"NoSuchPath","error":"no such path"}');
    }
  });

  test('is answered 405 with the allowed method', async (t) => {
    const app = await startApp(t);
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await app.send({ method, path });
      assert.equal(answer.status, 405, method);
      assert.equal(answer.headers.allow, 'POST');
    }
  });

  test('is answered 415 where it does not say that it is JSON', async (t) => {
    const app = await startApp(t);
    const token = { Authorization: 'Bearer token' };
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'text/json',
      'application/json5',
      '',
    ]) {
      assert.equal((await app.post(path, '{"ref":"v1"}', { ...token, 'Content-Type': type })).status, 415, type);
    }
    assert.equal((await app.post(path, '{"ref":"v1"}', token)).status, 415);
    for (const type of [
      'application/json',
      'Application/JSON; charset=utf-8',
      'application/vnd.x.v1+json',
      'application/cloudevents+json;x=y',
    ]) {
      assert.equal((await app.post(path, '{"ref":"v1"}', { ...token, 'Content-Type': type })).status, 202, type);
    }
  });

  test('with a percent sign that escapes nothing is answered 400 without an echo', async (t) => {
    const app = await startApp(t);
    const answer = await app.post('/webhook/team/%zz', '{"ref":"v1"}');
    assert.equal(answer.status, 400);
    assert.equal(answer.text, '{"accepted":false,"reason":"MalformedRequest","error":"malformed request"}');
  });
});

suite('the resource that a path names', () => {
  const targets = ['http://example.com/webhook/team/demo', '/webhook/team/dem%6f?x=/y', '/webhook/team/demo/'];
  for (const target of targets) {
    test(`is the one whose secret counts and the one that is patched: ${target}`, async (t) => {
      const asked: unknown[] = [];
      const readSecrets = async (given: unknown) => {
        asked.push(given);
        return { hmac: undefined, bearer: ['token'] };
      };
      const app = await startApp(t, { readSecrets });
      assert.equal((await app.post(target, '{"ref":"v1"}')).status, 202);
      assert.deepEqual(asked, [{ namespace: 'team', name: 'demo' }]);
      assert.deepEqual(app.stored[0]?.target, asked[0]);
    });
  }

  test('is none where a slash is escaped', async (t) => {
    const app = await startApp(t);
    const { status, body } = await app.post('/webhook/team%2Fdemo/x', '{"ref":"v1"}');
    assert.deepEqual([status, body.reason], [404, 'NotFound']);
  });
});

suite('a body that is encoded', () => {
  test('is answered 415, also where the media type is right', async (t) => {
    const app = await startApp(t);
    for (const encoding of ['gzip', 'br', 'identity, gzip']) {
      const { status, body } = await app.post(path, gzipSync('{"ref":"v1"}'), {
        ...authorized,
        'Content-Encoding': encoding,
      });
      assert.deepEqual([status, body.reason], [415, 'EncodedBody'], encoding);
    }
    const plain = await app.post(path, '{"ref":"v1"}', { ...authorized, 'Content-Encoding': 'identity' });
    assert.equal(plain.status, 202);
  });
});

suite('a delivery about another repository', () => {
  const readSecrets = async () => ({ hmac: ['key'], bearer: undefined });
  const post = (body: string) => {
    const time = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', 'key').update(`msg_1.${time}.${body}`).digest('base64');
    const event = { 'X-GitHub-Event': 'push', ...JSON_TYPE };
    return {
      ...event,
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(time),
      'webhook-signature': `v1,${signature}`,
    };
  };
  const push = '{"ref":"refs/tags/v1","repository":{"full_name":"Team/Other"}}';

  test('is answered 200 with the repository, and is taken when it is sent again after an edit', async (t) => {
    let result: StoreResult = { kind: 'foreign' };
    const app = await startApp(t, { readSecrets, enqueue: async () => result });
    const headers = post(push);
    const { status, body } = await app.post(path, push, headers);
    const { requestId } = body;
    assert.equal(status, 200);
    const answer = {
      accepted: false,
      reason: 'OtherRepository',
      source: 'github',
      repository: 'team/other',
      requestId,
    };
    assert.deepEqual(body, answer);
    result = { kind: 'stored', superseded: false };
    assert.equal((await app.post(path, push, headers)).status, 202);
    assert.equal((await app.post(path, push, headers)).body.reason, 'Replayed');
  });

  test('of Kargo is tried for each repository of the freight, until one is that of the resource', async (t) => {
    const tried: Annotations[] = [];
    const app = await startApp(t, {
      enqueue: async (_target, delivery) => {
        tried.push(annotationsOf(delivery, new Date()));
        return tried.at(-1)?.['sync.io/requested-repo'] === 'org/b'
          ? { kind: 'stored', superseded: false }
          : { kind: 'foreign' };
      },
    });
    const commits = ['a', 'b', 'c'].map((name) => ({ repoURL: `https://git.test/org/${name}.git`, tag: `v-${name}` }));
    const { status, body } = await app.post(path, JSON.stringify({ freight: { commits } }));
    assert.deepEqual([status, body.ref], [202, 'v-b']);
    assert.deepEqual(
      tried.map((each) => each['sync.io/requested-ref']),
      ['v-a', 'v-b'],
    );
    const foreign = await app.post(path, JSON.stringify({ commits: [commits[0], commits[2]] }));
    assert.deepEqual([foreign.status, foreign.body.accepted, foreign.body.reason], [200, false, 'OtherRepository']);
  });
});

suite('a refusal of the API server', () => {
  test('for good is answered 500 without Retry-After, so that its sender does not try again', async (t) => {
    const app = await startApp(t, { result: { kind: 'failed', reason: 'ApiServerRefused' } });
    const { status, headers, body } = await app.post(path, '{"ref":"v1"}');
    assert.deepEqual([status, headers['retry-after'], body.reason], [500, undefined, 'ApiServerRefused']);
  });
});

suite('a delivery that is sent again by somebody else', () => {
  const readSecrets = async () => ({ hmac: ['key'], bearer: undefined });
  const sign = (id: string, time: number, body: string) => ({
    ...JSON_TYPE,
    'webhook-id': id,
    'webhook-timestamp': String(time),
    'webhook-signature': `v1,${createHmac('sha256', 'key').update(`${id}.${time}.${body}`).digest('base64')}`,
  });
  const now = () => Math.floor(Date.now() / 1000);
  const body = '{"ref":"v1"}';

  test('is answered 200 and not stored, while its sender may try again', async (t) => {
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

  test('is taken where the first one could not be stored', async (t) => {
    let isAway = true;
    const enqueue = async () =>
      isAway
        ? ({ kind: 'failed', reason: 'ApiServerUnavailable' } as const)
        : ({ kind: 'stored', superseded: false } as const);
    const app = await startApp(t, { readSecrets, enqueue });
    const headers = sign('msg_1', now(), body);
    assert.equal((await app.post(path, body, headers)).status, 503);
    isAway = false;
    assert.equal((await app.post(path, body, headers)).status, 202);
  });
});

suite('any JSON at all', () => {
  const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const cases: [string, Record<string, string>, string][] = [
    ['an object with a method of its own', { 'X-Gitlab-Event': 'Release Hook' }, gitlabRelease({ toString: 1 })],
    ['a list where a date is expected', { 'X-Gitlab-Event': 'Release Hook' }, gitlabRelease([[]])],
    ['20,000 nested lists', {}, `{"ref":${nested}}`],
    ['20,000 nested lists in a list', { 'X-Event-Key': 'repo:push' }, `{"push":{"changes":[${nested}]}}`],
    ['a list where a name is expected', { 'X-GitHub-Event': 'create' }, '{"ref":["v1"],"ref_type":"tag"}'],
    [
      'an object where a name is expected',
      { 'X-Event-Key': 'repo:push' },
      '{"push":{"changes":[{"new":{"type":"tag","name":{"valueOf":1},"date":{"toString":1}}}]}}',
    ],
    [
      'an object where a time is expected',
      { 'X-Event-Key': 'repo:refs_changed' },
      '{"changes":[{"refId":"refs/tags/v1","toCommit":{"committerTimestamp":{"valueOf":1}}}]}',
    ],
    ['a million lists', {}, `{"ref":"v1","x":[${Array(1_000_000).fill('[]').join()}]}`],
  ];
  for (const [name, headers, body] of cases) {
    test(`is answered 2xx or 4xx, and counted: ${name}`, async (t) => {
      const app = await startApp(t, { limits: { maxBytes: 4_000_000, budgetBytes: 8_000_000 } });
      const { status } = await app.post(path, body, { ...authorized, ...headers });
      assert.ok(status < 500, String(status));
      assert.equal(app.records.length, 1);
    });
  }
});

suite('what is told of each request', () => {
  test('has the time since it came', async (t) => {
    const readSecrets = async () => {
      await sleep(50);
      return { hmac: undefined, bearer: ['token'] };
    };
    const app = await startApp(t, { readSecrets });
    await app.post(path, '{"ref":"v1"}');
    const [record] = app.records;
    assert.ok(Number(record?.seconds) > 0.04, `${record?.seconds}`);
  });

  test('is told of every answer, also of those that no route gives', async (t) => {
    const app = await startApp(t, { readSecrets: () => Promise.reject(new Error('x')) });
    await app.post('/', '{}');
    await app.post('/webhook/team/%zz', '{}');
    await app.send({ method: 'DELETE', path });
    await app.post(path, '{}');
    assert.deepEqual(
      app.records.map(({ outcome }) => reasonOf(outcome)),
      ['NoSuchPath', 'MalformedRequest', 'MethodNotAllowed', 'InternalError'],
    );
  });

  test('holds its outcome and its reason', async (t) => {
    const app = await startApp(t);
    await app.post(path, '{"ref":"v1"}');
    await app.post(path, '{"ref":"v1"}', JSON_TYPE);
    await app.post(path, '{"commits":[]}');
    await app.send({ method: 'GET', path });
    assert.deepEqual(
      app.records.map(({ outcome }) => [outcome.kind, reasonOf(outcome)]),
      [
        ['stored', ''],
        ['refused', 'Unauthorized'],
        ['ignored', 'NoRef'],
        ['refused', 'MethodNotAllowed'],
      ],
    );
  });

  test('is an internal error without details where the program is at fault', async (t) => {
    const app = await startApp(t, { readSecrets: () => Promise.reject(new Error('secret detail')) });
    const answer = await app.post(path, '{"ref":"v1"}');
    assert.equal(answer.status, 500);
    assert.equal(answer.text, '{"accepted":false,"reason":"InternalError","error":"internal error"}');
  });
});
