import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createReadSecrets } from '../../../receiver/authentication/secrets.ts';
import { isValidRefName } from '../../../shared/domain/git/check-ref-name.ts';
import { byDepth } from '../../support/depth.ts';
import { fc, runs } from '../../support/property.ts';
import { type RunningApp, startApp } from './start-app.ts';

const key = 'key';
const readSecrets = createReadSecrets({ hmac: { value: key }, bearer: { value: 'token' } });

interface Raw {
  method: string;
  path: string;
  headers: [string, string][];
  body: Uint8Array;
}

/** Sends bytes as they are, which no HTTP client would do, and gives the status of the answer; 0 where none came. */
async function send(app: RunningApp, { method, path, headers, body }: Raw): Promise<number> {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close', `Content-Length: ${body.length}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const socket = connect(app.port, '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  socket.on('error', () => {});
  socket.write(Buffer.concat([head, body]));
  await new Promise((resolve) => socket.once('close', resolve));
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0);
}

const bytes = fc.uint8Array({ maxLength: 300 });
const latin1 = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 60,
});
/** What may be in a header, and what may not. */
const headerValue = fc.oneof(
  latin1.map((text) => text.replace(/[\r\n]/g, '')),
  latin1,
);
const headerName = fc.constantFrom(
  ...['Authorization', 'X-Hub-Signature-256', 'X-Hub-Signature', 'X-Gitea-Signature', 'X-Gitlab-Token', 'Cookie'],
  ...['X-GitHub-Event', 'X-Gitlab-Event', 'X-Gitea-Event', 'X-Event-Key', 'Content-Type', 'Content-Encoding', 'Expect'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature', 'Transfer-Encoding', 'X-Forwarded-For', '__proto__'],
);
const headers = fc.array(fc.tuple(headerName, headerValue), { maxLength: 6 });
const segment = fc.oneof(
  fc.constantFrom('team', 'demo', '..', '%2e%2e', '%2F', '%', '%zz', '%00', '', 'TEAM', '__proto__', 'x'.repeat(300)),
  latin1.map((text) => text.replace(/[\r\n ]/g, '')),
);
const path = fc.oneof(
  fc.tuple(segment, segment).map((parts) => `/webhook/${parts.join('/')}`),
  fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
  fc.constantFrom('*', 'http://x/webhook/team/demo', '//webhook//team//demo', '/webhook/team/demo?a=%zz'),
);
const ref = fc.oneof(
  fc.constantFrom('v1', 'refs/heads/main', 'refs/tags/v1', '-x', '', 'a..b', '\ud800'),
  fc.jsonValue(),
);
/** Values that are not what stands there: some have the names of methods that a conversion would call. */
const odd = fc.oneof(
  ref,
  fc.constantFrom({ toString: 1 }, { valueOf: [] }, { toJSON: 'x' }, { length: 1, 0: 'x' }, [['v1']], [{}], { '': {} }),
  fc.integer({ min: 1, max: 200 }).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)),
  fc.dictionary(fc.constantFrom('tag_name', 'name', 'id', 'date', 'release', 'git.ref', '__proto__'), fc.jsonValue()),
);
/** An event header, and a name that some sender has for an event. */
const eventHeader: fc.Arbitrary<[string, string]> = fc.tuple(
  fc.constantFrom('X-GitHub-Event', 'X-Gitlab-Event', 'X-Gitea-Event', 'X-Event-Key', 'X-Other-Event'),
  fc.constantFrom('push', 'create', 'release', 'package', 'Release Hook', 'repo:push', 'repo:refs_changed', 'toString'),
);
const json = fc
  .oneof(
    fc.jsonValue(),
    fc.record({ ref, reason: fc.jsonValue() }),
    fc.record({ action: fc.constantFrom('published', 'deleted'), release: fc.record({ tag_name: ref }) }),
    fc.record({ freight: fc.record({ commits: fc.array(fc.record({ tag: ref, branch: ref, id: ref })) }) }),
    fc.record({ push: fc.record({ changes: fc.array(fc.record({ new: fc.record({ type: ref, name: ref }) })) }) }),
    fc.record({
      object_kind: fc.constantFrom('push', 'release'),
      action: ref,
      tag: ref,
      created_at: odd,
      released_at: odd,
    }),
    fc.record({ action: fc.constant('published'), package: fc.record({ package_version: odd }) }),
    fc.record({ changes: fc.array(fc.record({ type: odd, refId: odd, ref: odd, toCommit: odd })) }),
    fc.record({
      eventType: fc.constantFrom('git.push', 'git.pullrequest.created'),
      publisherId: fc.constant('tfs'),
      resource: fc.record({ refUpdates: fc.array(fc.record({ name: ref, newObjectId: ref })), repository: odd }),
    }),
    fc.record({
      app: fc.record({ metadata: fc.record({ annotations: odd }) }),
      ref_type: odd,
      deleted: odd,
      after: odd,
    }),
    odd.map((value) => ({ ref: value, release: value, push: value, freight: value, commits: value })),
  )
  .map((value) => Buffer.from(JSON.stringify(value)));
const method = fc.constantFrom('POST', 'POST', 'POST', 'GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE');

const stillWorks = async (app: RunningApp) => {
  app.stored.length = 0;
  assert.equal((await app.post('/webhook/team/demo', '{"ref":"v1"}')).status, 202);
};

test('no unauthenticated input is stored or causes a failure', async (t) => {
  const app = await startApp(t, { readSecrets });
  const seen = new Set<number>();
  const request = fc.record({ method, path, headers, body: fc.oneof(bytes, json) });
  await fc.assert(
    fc.asyncProperty(request, async (raw) => {
      const status = await send(app, raw);
      seen.add(status);
      assert.ok(status < 500, `answered ${status}`);
      assert.deepEqual(app.stored, []);
    }),
    { numRuns: runs(1000) },
  );
  for (const status of byDepth([404], [400, 401, 404, 405])) assert.ok(seen.has(status), `some are answered ${status}`);
  await stillWorks(app);
});

test('every authentic delivery gets a response, and only valid git refs are stored', async (t) => {
  const app = await startApp(t, { readSecrets });
  const body = fc.oneof(bytes, json);
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(headers, eventHeader, body, async (others, named, content) => {
      const mac = createHmac('sha256', key).update(content).digest('hex');
      const usable = others.filter(([name]) => !/^(content|transfer|expect|x-hub-signature-256)/i.test(name));
      const own: Raw['headers'] = [
        ['X-Hub-Signature-256', `sha256=${mac}`],
        ['Content-Type', 'application/json'],
        named,
      ];
      const withoutControls = usable.filter(([, value]) => !/[^ -~\x80-\xff]/.test(value));
      const all = [...own, ...withoutControls];
      const status = await send(app, { method: 'POST', path: '/webhook/team/demo', headers: all, body: content });
      seen.add(status);
      assert.ok([200, 202, 400].includes(status), `answered ${status}`);
      for (const { annotations } of app.stored) {
        for (const name of ['sync.io/requested-ref', 'sync.io/pushed-ref']) {
          if (annotations[name] !== undefined) assert.ok(isValidRefName(annotations[name]));
        }
      }
    }),
    { numRuns: runs(3000), examples: [[[], ['X-Other-Event', 'push'], Buffer.from('{"ref":"v1"}')]] },
  );
  for (const status of byDepth([202], [200, 202, 400])) assert.ok(seen.has(status), `some are answered ${status}`);
  await stillWorks(app);
});

test("bytes that aren't HTTP don't crash the receiver", async (t) => {
  const app = await startApp(t, { readSecrets, headTimeoutMs: 2000 });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (noise) => {
      const socket = connect(app.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume().end(noise);
      await new Promise((resolve) => socket.once('close', resolve));
      assert.deepEqual(app.stored, []);
    }),
    { numRuns: runs(300) },
  );
  await stillWorks(app);
});
