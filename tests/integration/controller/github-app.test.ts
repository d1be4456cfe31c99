import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace, kubectl, managersOf } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, condition, untilCommit, untilCondition } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';
import { type GithubApiOptions, startGithubApi } from './start-github-api.ts';

const TOKEN = 'ghs_tokenOfTheInstallation';

async function arrange(t: TestContext, environment: Record<string, string>, options: Partial<GithubApiOptions> = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const api = await startGithubApi(t, publicKey, { mint: () => TOKEN, ...options });
  const { server, repository, commit } = await serveRepository(t, {
    tls: true,
    credentials: { username: 'x-access-token', password: TOKEN },
  });
  const namespace = await createNamespace(t);
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const ca = `${api.ca}\n${await readFile(server.caFile ?? '', 'utf8')}`;
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'app', namespace }, stringData: { pem, ca } });
  const controller = await startController(t, namespace, environment);
  const githubApp = {
    appId: 7,
    installationId: 42,
    privateKeySecretRef: { name: 'app', key: 'pem' },
    apiBaseURL: api.url,
  };
  const git = { repo: repository.url, auth: { githubApp }, caSecretRef: { name: 'app', key: 'ca' } };
  return { namespace, api, commit, git, controller, pem, server, repository };
}

async function readToken(namespace: string, name: string): Promise<string> {
  const path = corePath('secrets', namespace, `sync-git-token-${name}`);
  const { data } = await callApi<{ data: { token: string } }>({ path });
  return Buffer.from(data.token, 'base64').toString();
}

const polled = { polling: { enabled: true, interval: '5s' } };

suite('a GitHub App', { concurrency: 2 }, () => {
  test('authenticates with a token for one repository, and its agents get the token, never the key', async (t) => {
    const { namespace, api, commit, git, controller, pem } = await arrange(t, { GITHUB_APP: 'true' });
    await applyGatewaySync({ namespace, name: 'app' }, git);
    await applyGatewaySync({ namespace, name: 'paused' }, git, { paused: true });
    const { status } = await untilCommit({ namespace, name: 'app' }, commit);
    assert.equal(status?.refResolutionStatus, 'Resolved');
    await untilCondition({ namespace, name: 'paused' }, 'Ready', 'Paused');
    assert.deepEqual(api.calls, [
      {
        url: '/api/v3/app/installations/42/access_tokens',
        issuer: '7',
        body: { repositories: ['app'], permissions: { contents: 'read' } },
      },
    ]);
    for (const name of ['app', 'paused']) {
      // A paused resource is seen before its token exists.
      const read = () =>
        kubectl('get', 'secret', `sync-git-token-${name}`, '--namespace', namespace, '--output', 'json');
      const secret = JSON.parse(await until(read, { describe: `the Secret of ${name}` }));
      assert.equal(secret.type, 'sync.io/git-token');
      assert.equal(Buffer.from(secret.data.token, 'base64').toString(), TOKEN);
      assert.equal(secret.metadata.ownerReferences[0].name, name);
      assert.deepEqual(await managersOf(corePath('secrets', namespace, secret.metadata.name)), ['sync-controller']);
    }
    for (const secret of [TOKEN, pem.split('\n')[1] ?? '']) assert.ok(!controller.output.includes(secret));
  });

  test('leaves no token behind once a resource no longer has it, even if the controller was down', slow, async (t) => {
    const { namespace, commit, git, controller } = await arrange(t, { GITHUB_APP: 'true' });
    const withoutApp = { ...git, auth: { token: { secretRef: { name: 'app', key: 'pem' } } } };
    const isEmpty = { describe: 'the token is gone', accept: (token: string) => token === '' };
    for (const name of ['app', 'later']) {
      await applyGatewaySync({ namespace, name }, git);
      await untilCommit({ namespace, name }, commit);
      assert.equal(await readToken(namespace, name), TOKEN);
    }
    await applyGatewaySync({ namespace, name: 'app' }, withoutApp);
    await until(() => readToken(namespace, 'app'), isEmpty);
    await controller.stop();
    await applyGatewaySync({ namespace, name: 'later' }, withoutApp);
    await startController(t, namespace, { GITHUB_APP: 'true' });
    await until(() => readToken(namespace, 'later'), isEmpty);
    await applyGatewaySync({ namespace, name: 'app' }, git);
    await until(() => readToken(namespace, 'app'), { describe: 'a token again', accept: (token) => token === TOKEN });
  });

  test("is rejected if it isn't enabled", async (t) => {
    const { namespace, api, git } = await arrange(t, {});
    await applyGatewaySync({ namespace, name: 'app' }, git);
    const resource = await untilCondition({ namespace, name: 'app' }, 'RefResolved', 'False');
    assert.equal(condition(resource, 'RefResolved')?.reason, 'GitHubAppNotEnabled');
    assert.deepEqual(api.calls, []);
  });

  test('gets another token when the server rejects the current one', slow, async (t) => {
    let token = TOKEN;
    const world = await arrange(t, { GITHUB_APP: 'true' }, { mint: () => token });
    const { namespace, api, commit, git, server, repository } = world;
    const address = { namespace, name: 'app' };
    await applyGatewaySync(address, git, polled);
    await untilCommit(address, commit);
    token = 'ghs_tokenAfterTheRightsChanged';
    server.credentials = { username: 'x-access-token', password: token };
    const second = await repository.commit({ files: { 'config/a': '2' } });
    await untilCommit(address, second);
    assert.equal(api.calls.length, 2);
    await until(() => readToken(namespace, 'app'), {
      describe: 'the agents have it',
      accept: (seen) => seen === token,
    });
  });
});
