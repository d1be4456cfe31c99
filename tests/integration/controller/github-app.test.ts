import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { jwtVerify } from 'jose';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { startGitServer } from '../../../scripts/testbed/git-server.ts';
import { makeTemporaryFolder } from '../../../scripts/testbed/temporary-folder.ts';
import { apply, createNamespace, kubectl } from '../../support/cluster.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { startController } from '../../support/start-controller.ts';

const TOKEN = 'ghs_tokenOfTheInstallation';

interface TokenCall {
  url: string;
  issuer: string | undefined;
  body: { repositories?: string[]; permissions?: Record<string, string> };
}

/** An API that gives tokens as GitHub does, to callers whose JWT is signed by the App's key. */
async function startApi(t: TestContext, publicKey: KeyObject) {
  const folder = await makeTemporaryFolder('github-api-');
  const { caFile, certFile, keyFile } = await createCertificates(folder.path);
  const calls: TokenCall[] = [];
  const server = createServer(
    { cert: await readFile(certFile), key: await readFile(keyFile) },
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
      const verified = await jwtVerify(token, publicKey, { algorithms: ['RS256'], maxTokenAge: '10m' }).catch(
        () => undefined,
      );
      calls.push({
        url: request.url ?? '',
        issuer: verified?.payload.iss,
        body: JSON.parse(Buffer.concat(chunks).toString('utf8')),
      });
      const answer = { token: TOKEN, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
      response
        .writeHead(verified ? 201 : 401, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(verified ? answer : {}));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await folder.remove();
  });
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`,
    ca: await readFile(caFile, 'utf8'),
    calls,
  };
}

async function arrange(t: TestContext, environment: Record<string, string>) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const api = await startApi(t, publicKey);
  const server = await startGitServer({ tls: true, credentials: { username: 'x-access-token', password: TOKEN } });
  t.after(() => server.stop());
  const repository = await server.createRepository('app');
  const commit = await repository.commit({ files: { 'config/a': '1' } });
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
  return { namespace, api, commit, git, controller, pem };
}

suite('a GitHub App', { concurrency: 2 }, () => {
  test('gets in with a token for the one repository, and its agents get the token, never the key', async (t) => {
    const { namespace, api, commit, git, controller, pem } = await arrange(t, { GITHUB_APP: 'true' });
    await applyGatewaySync({ namespace, name: 'app' }, git);
    await applyGatewaySync({ namespace, name: 'paused' }, git, { paused: true });
    const { status } = await untilGatewaySync(
      { namespace, name: 'app' },
      'resolved',
      (resource) => resource.status?.lastSyncCommit === commit,
    );
    assert.equal(status?.refResolutionStatus, 'Resolved');
    await untilGatewaySync(
      { namespace, name: 'paused' },
      'seen',
      (resource) => condition(resource, 'Ready')?.reason === 'Paused',
    );
    assert.deepEqual(api.calls, [
      {
        url: '/api/v3/app/installations/42/access_tokens',
        issuer: '7',
        body: { repositories: ['app'], permissions: { contents: 'read' } },
      },
    ]);
    for (const name of ['app', 'paused']) {
      const secret = JSON.parse(
        await kubectl('get', 'secret', `sync-git-token-${name}`, '--namespace', namespace, '--output', 'json'),
      );
      assert.equal(secret.type, 'sync.io/git-token');
      assert.equal(Buffer.from(secret.data.token, 'base64').toString(), TOKEN);
      assert.equal(secret.metadata.ownerReferences[0].name, name);
    }
    for (const secret of [TOKEN, pem.split('\n')[1] ?? '']) assert.ok(!controller.output.includes(secret));
  });

  test('that GitHub does not know shows as a condition', async (t) => {
    const { namespace, git } = await arrange(t, { GITHUB_APP: 'true' });
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'app', namespace }, stringData: { pem } },
      '--force-conflicts',
    );
    await applyGatewaySync({ namespace, name: 'app' }, git);
    const resource = await untilGatewaySync(
      { namespace, name: 'app' },
      'refused',
      (seen) => condition(seen, 'RefResolved')?.status === 'False',
    );
    assert.equal(condition(resource, 'RefResolved')?.reason, 'AuthenticationFailed');
    assert.match(condition(resource, 'RefResolved')?.message ?? '', /GitHub answered 401; check appId/);
  });

  test('is refused where it is not enabled', async (t) => {
    const { namespace, api, git } = await arrange(t, {});
    await applyGatewaySync({ namespace, name: 'app' }, git);
    const resource = await untilGatewaySync(
      { namespace, name: 'app' },
      'refused',
      (seen) => condition(seen, 'RefResolved')?.status === 'False',
    );
    assert.equal(condition(resource, 'RefResolved')?.reason, 'GitHubAppNotEnabled');
    assert.deepEqual(api.calls, []);
  });
});
