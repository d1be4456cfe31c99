import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { GitTokenKeeper } from '../../../../controller/agent-access/git-token-keeper.ts';
import { GithubApps } from '../../../../controller/polling/github-app.ts';
import { HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';
import { until } from '../../../support/until.ts';
import { queryTools, startHost } from '../polling/query-world.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })).toString('base64');

/** A keeper, an API of GitHub, and the written Secrets; the API server always responds. */
async function arrange(t: TestContext, api: RequestListener) {
  let calls = 0;
  const url = await startHost(t, (request, response) => {
    calls += 1;
    api(request, response);
  });
  const secrets: string[] = [];
  const enqueued: string[] = [];
  const there = new Map<string, { uid: string; resourceVersion: string }>();
  const apiServer = { isFailing: false };
  const client = clientWith({
    getAs: async (path: string) => {
      if (path.endsWith('/app')) return { data: { key } };
      if (apiServer.isFailing) throw new ApiError(500, '{}');
      const metadata = there.get(path);
      if (metadata === undefined) throw new ApiError(404, '{}');
      return { metadata };
    },
    create: async (path: string, { metadata: { namespace, name } }: { metadata: Record<string, string> }) => {
      const uid = String(secrets.push(`${namespace}/${name}`));
      const metadata = { uid, resourceVersion: `${100 + secrets.length}` };
      there.set(`${path}/${name}`, metadata);
      return { metadata };
    },
  });
  const http = queryTools().http;
  t.after(() => http.close());
  const keeper = new GitTokenKeeper({
    client,
    apps: new GithubApps(client, http),
    limiter: new HostLimiter(DEFAULT_LIMITS),
    enqueue: (resource) => enqueued.push(resource),
    checkMs: 0,
    log: createLogger('test', { level: 'silent' }),
  });
  const githubApp = {
    appId: 1,
    installationId: 2,
    privateKeySecretRef: { name: 'app', key: 'key' },
    apiBaseURL: new URL(url).origin,
  };
  const supply = (name: string, installationId = 2) => {
    const git = {
      repo: 'https://github.com/plant/config.git',
      ref: 'main',
      auth: { githubApp: { ...githubApp, installationId } },
    };
    const metadata = { namespace: 'default', name, uid: name };
    const resource = projectGatewaySync(gatewaySyncOf({ metadata, spec: { git } }), undefined, 0);
    return keeper.supply(`default/${name}`, resource);
  };
  return { keeper, supply, secrets, there, apiServer, enqueued, calls: () => calls };
}

const answerWithToken: RequestListener = (_, response) => {
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  response.writeHead(201).end(JSON.stringify({ token: 'token', expires_at: expires }));
};

/** A keeper that has written a token for the resource `a`. */
async function arrangeToken(t: TestContext) {
  const world = await arrange(t, answerWithToken);
  await world.supply('a');
  await until(() => world.enqueued.length === 1, { describe: 'enqueued of the token' });
  await world.supply('a');
  return world;
}

suite('the store of GitHub App tokens', () => {
  test('waits for no API, and enqueues the resource when there is a token', async (t) => {
    const { supply, secrets, enqueued, calls } = await arrange(t, answerWithToken);
    for (const name of ['a', 'b']) assert.equal(await supply(name), undefined);
    await until(() => enqueued.length === 2, { describe: 'both are enqueued' });
    for (const name of ['a', 'b']) assert.ok(((await supply(name)) ?? 0) > 40 * 60_000, 'due again before its end');
    await supply('a');
    assert.deepEqual(secrets, ['default/sync-git-token-a', 'default/sync-git-token-b']);
    assert.equal(calls(), 1);
  });

  test('writes a token again if its Secret was deleted or recreated', async (t) => {
    const { supply, secrets, there, calls } = await arrangeToken(t);
    await supply('a');
    assert.equal(secrets.length, 1);
    there.clear();
    await supply('a');
    assert.equal(secrets.length, 2);
    for (const path of there.keys()) there.set(path, { uid: 'another', resourceVersion: '200' });
    await supply('a');
    assert.equal(secrets.length, 3);
    assert.equal(calls(), 1, 'the token is the same');
  });

  test("assumes that a Secret exists while the API server can't tell", async (t) => {
    const { supply, secrets, there, apiServer } = await arrangeToken(t);
    apiServer.isFailing = true;
    there.clear();
    assert.ok(((await supply('a')) ?? 0) > 0);
    assert.equal(secrets.length, 1);
    apiServer.isFailing = false;
    await supply('a');
    assert.equal(secrets.length, 2, 'it looks again');
  });

  test('pauses after an API has failed', async (t) => {
    const { supply, enqueued, calls } = await arrange(t, (_, response) => void response.writeHead(503).end('{}'));
    await supply('a');
    await until(() => enqueued.length > 0, { describe: 'enqueued of the failure' });
    const waitMs = (await supply('a')) ?? 0;
    assert.ok(waitMs > 1_000 && waitMs <= 5_000, String(waitMs));
    assert.equal(calls(), 1);
  });

  test('requests no other token within a minute, however soon the first one expires', async (t) => {
    const { supply, enqueued, calls } = await arrange(t, (_, response) => {
      const expires = new Date(Date.now() + 60_000).toISOString();
      response.writeHead(201).end(JSON.stringify({ token: 'token', expires_at: expires }));
    });
    for (let round = 1; round <= 3; round += 1) {
      const waitMs = await supply('a');
      if (round > 1) assert.ok(waitMs !== undefined && waitMs > 50_000 && waitMs <= 60_000, String(waitMs));
      await until(() => enqueued.length === 1, { describe: 'enqueued of the token' });
    }
    assert.equal(calls(), 1);
  });

  test('drops the token of a resource that names another one, unless others share it', async (t) => {
    const { supply, enqueued, calls } = await arrange(t, answerWithToken);
    for (const name of ['a', 'b']) await supply(name);
    await until(() => enqueued.length === 2, { describe: 'both have a token' });
    await supply('a', 3);
    assert.notEqual(await supply('b'), undefined, 'still there for the other one');
    await supply('b', 3);
    await until(() => enqueued.length === 4, { describe: 'both have another token' });
    assert.equal(await supply('a', 2), undefined, 'asked for anew');
    await until(() => calls() === 3, { describe: 'three calls' });
  });
});
