import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { createApp } from '../../../../controller/injection/app.ts';
import type { CandidateSource } from '../../../../controller/injection/candidates.ts';
import { readReview } from '../../../../controller/injection/review.ts';
import { createReadBody } from '../../../../shared/io/http/read-body.ts';
import { createLogger } from '../../../../shared/log.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

const candidate = { name: 'app', spec: gatewaySpecOf() };
const pod = {
  metadata: { name: 'gateway-0', annotations: { 'sync.io/inject': 'true' } },
  spec: {
    containers: [{ name: 'gateway', image: 'g:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
};

function review(object: unknown, fields: object = {}): object {
  const given = { uid: 'u-1', namespace: 'plant', object, ...fields };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: given };
}

async function start(t: TestContext, source: Partial<CandidateSource> = {}) {
  const outcomes: string[] = [];
  const handler = createApp({
    candidates: {
      watches: () => true,
      mayQuery: () => true,
      cached: () => [candidate],
      live: () => Promise.reject(new Error('not expected')),
      ...source,
    },
    images: { defaultImage: 'agent:1', allowedRepositories: [] },
    readBody: createReadBody({ maxBytes: 3 << 20, budgetBytes: 12 << 20 }),
    log: createLogger('test', { level: 'silent' }),
    onReview: (outcome) => outcomes.push(outcome),
  });
  const { port } = new URL(await startHttpHost(t, handler));
  return { outcomes, post: (...given: Given) => post(port, ...given) };
}

interface Answer {
  status: number;
  apiVersion?: string;
  kind?: string;
  error?: string;
  response?: {
    uid: string;
    allowed: boolean;
    patchType?: string;
    patch?: string;
    status?: { code: number; reason: string; message: string };
  };
}

type Given = [body: unknown, headers?: Record<string, string>, path?: string];

function post(port: string, ...[body, headers = {}, path = '/mutate-v1-pod']: Given): Promise<Answer> {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const options = { port, path, method: 'POST', agent: false };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, headers: { 'Content-Type': 'application/json', ...headers } }, (response) => {
      const answerOf = (received: string) => {
        return { status: response.statusCode ?? 0, ...(JSON.parse(received) as object) };
      };
      text(response).then(answerOf).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(payload);
  });
}

suite('an admission review', () => {
  test('is answered with its own UID and a patch', async (t) => {
    const { post, outcomes } = await start(t);
    const { status, response } = await post(review(pod), { 'Content-Type': 'application/json; charset=utf-8' });
    assert.equal(status, 200);
    const { uid, allowed, patchType } = response ?? {};
    assert.deepEqual({ uid, allowed, patchType }, { uid: 'u-1', allowed: true, patchType: 'JSONPatch' });
    const patch = JSON.parse(Buffer.from(response?.patch ?? '', 'base64').toString()) as { path: string }[];
    assert.ok(patch.some(({ path }) => path === '/spec/initContainers'));
    assert.deepEqual(outcomes, ['patched']);
  });

  test('of a namespace that another operator serves is allowed without a change', async (t) => {
    const { post } = await start(t, { watches: (namespace) => namespace !== 'plant' });
    assert.deepEqual((await post(review(pod))).response, { uid: 'u-1', allowed: true });
  });

  test('of a pod without the annotation is allowed without a change', async (t) => {
    const { post } = await start(t, { cached: () => undefined });
    const { response } = await post(review({ ...pod, metadata: {} }));
    assert.deepEqual(response, { uid: 'u-1', allowed: true });
  });
});

suite('a denial based on the cache', () => {
  const without = { ...candidate, spec: { ...candidate.spec, sync: { ...candidate.spec.sync, profiles: {} } } };
  const stale: [what: string, cached: CandidateSource['cached']][] = [
    ['is not there yet', () => undefined],
    ['lacks the resource', () => []],
    ['lacks the profile', () => [without]],
    ['still has a resource that is gone', () => [candidate, { ...candidate, name: 'gone' }]],
  ];
  for (const [what, cached] of stale)
    test(`is preceded by a read from the API server: ${what}`, async (t) => {
      const { post } = await start(t, { cached, live: async () => ({ candidates: [candidate] }) });
      assert.ok((await post(review(pod))).response?.patch);
    });

  test('needs no read if the pod itself is at fault', async (t) => {
    const { post } = await start(t);
    const rootPod = { ...pod, spec: { ...pod.spec, securityContext: { runAsUser: 0 } } };
    const { apiVersion, kind, response } = await post(review(rootPod));
    assert.deepEqual([apiVersion, kind], ['admission.k8s.io/v1', 'AdmissionReview']);
    const { message = '', ...status } = response?.status ?? {};
    assert.deepEqual(
      { ...response, status },
      { uid: 'u-1', allowed: false, status: { code: 403, reason: 'Forbidden' } },
    );
    assert.match(message, /^sync agent: .* gateway .* 0\b/);
  });

  test('stands without a read if there were too many', async (t) => {
    const live = async () => ({ candidates: [candidate] });
    let asked = 0;
    const mayQuery = () => ++asked > 1;
    const { post, outcomes } = await start(t, { cached: () => [], live, mayQuery });
    assert.match((await post(review(pod))).response?.status?.message ?? '', /no GatewaySync/);
    assert.ok((await post(review(pod))).response?.patch);
    assert.deepEqual(outcomes, ['denied', 'patched']);
  });

  test('is never made before the cache is filled: the client has to retry', async (t) => {
    const { post, outcomes } = await start(t, { cached: () => undefined, mayQuery: () => false });
    assert.deepEqual(await post(review(pod)), { status: 503, error: 'try again' });
    assert.deepEqual(outcomes, ['failed']);
  });

  test('is never made while the API server is unavailable: the failure policy decides', async (t) => {
    const { post, outcomes } = await start(t, { cached: () => [] });
    assert.equal((await post(review(pod))).status, 500);
    assert.deepEqual(outcomes, ['failed']);
  });
});

test('injection reads exactly the fields of a pod that it needs', () => {
  const securityContext = { runAsUser: 1, runAsGroup: 2, seLinuxOptions: { level: 's0' } };
  const container = {
    name: 'c',
    restartPolicy: 'Always',
    env: [{ name: 'A', value: 'b' }],
    ports: [{ containerPort: 1 }],
    volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 's', subPathExpr: '$(A)', readOnly: true }],
    securityContext,
  };
  const whole = {
    metadata: { name: 'p', generateName: 'p-', annotations: { a: 'b' }, labels: { c: 'd' } },
    spec: {
      containers: [container],
      initContainers: [container],
      volumes: [{ name: 'v', emptyDir: {} }],
      securityContext,
      resources: { limits: { cpu: '1' } },
    },
  };
  const given = review({ ...whole, metadata: { ...whole.metadata, uid: 'x' }, spec: { ...whole.spec, hostname: 'h' } });
  assert.deepEqual(readReview(given), { uid: 'u-1', namespace: 'plant', pod: whole });
  const least = { metadata: {}, spec: { containers: [] } };
  assert.deepEqual(readReview(review(least)), { uid: 'u-1', namespace: 'plant', pod: least });
});

suite('hostile input to the webhook', () => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const inPod = (fields: object) => review({ ...pod, spec: { ...pod.spec, ...fields } });
  const cases: [what: string, body: unknown, status: number][] = [
    ['nothing', '', 400],
    ['another version', { ...review(pod), apiVersion: 'admission.k8s.io/v1beta1' }, 400],
    ['no UID', review(pod, { uid: '' }), 400],
    ['the longest UID', review(pod, { uid: 'x'.repeat(128) }), 200],
    ['a longer UID', review(pod, { uid: 'x'.repeat(129) }), 400],
    ['no namespace', review(pod, { namespace: undefined }), 400],
    ['a namespace that leads out of its path', review(pod, { namespace: '..' }), 400],
    ['no pod', review(null), 400],
    ['annotations of another kind', review({ ...pod, metadata: { annotations: 'sync.io/inject' } }), 400],
    ['containers of another kind', inPod({ containers: {} }), 400],
    ['no containers', inPod({ containers: [null] }), 400],
    ['a user of another kind', inPod({ securityContext: { runAsUser: '0' } }), 400],
    ['a prototype', JSON.stringify(review(pod)).replace('"spec"', '"__proto__":{"x":1},"spec"'), 200],
    ['a thousand levels', deep(1_000), 400],
    ['two hundred thousand keys', `{${Array.from({ length: 200_000 }, (_, n) => `"${n}":0`).join()}}`, 400],
    ['more than three megabytes', ' '.repeat((3 << 20) + 1), 413],
  ];
  test('is answered, and so is the next review', async (t) => {
    const { post } = await start(t);
    for (const [what, body, status] of cases) assert.equal((await post(body)).status, status, what);
    assert.ok((await post(review(pod))).response?.patch);
  });

  test('is rejected if its type, path, or method is wrong', async (t) => {
    const { post } = await start(t);
    for (const type of ['', 'application/json-patch+json'])
      assert.equal((await post(review(pod), { 'Content-Type': type })).status, 415, type);
    for (const path of ['/other', '/%ff', '/mutate-v1-pod/%'])
      assert.equal((await post(review(pod), {}, path)).status, 404, path);
  });
});
