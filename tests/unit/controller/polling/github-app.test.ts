import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { suite, test } from 'node:test';
import type { GitHttp } from '../../../../controller/polling/git-http.ts';
import { GithubApps } from '../../../../controller/polling/github-app.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';

const HOUR_MS = 3_600_000;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })).toString('base64');

/** When a token ends, in milliseconds from now, of which the answer says that it ends then. */
async function lifetimeOf(expiresAt: string): Promise<number> {
  const client = { get: async () => ({ data: { key } }) } as unknown as KubernetesClient;
  const body = Buffer.from(JSON.stringify({ token: 'token', expires_at: expiresAt }));
  const http = { postJson: async () => ({ status: 201, body }) } as unknown as GitHttp;
  const githubApp = { appId: 1, installationId: 2, privateKeySecretRef: { name: 'app', key: 'key' } };
  const git = { repo: 'https://github.com/plant/config.git', auth: { githubApp } };
  const token = await new GithubApps(client, http).token({ namespace: 'default', git });
  return token.expiresAt - Date.now();
}

suite('a token of a GitHub App', () => {
  test('is good for as long as the answer says', async () => {
    const lifetime = await lifetimeOf(new Date(Date.now() + HOUR_MS / 2).toISOString());
    assert.ok(lifetime > HOUR_MS / 2 - 30_000 && lifetime <= HOUR_MS / 2, String(lifetime));
  });

  for (const expiresAt of ['2126-01-01T00:00:00Z', '+275760-09-13T00:00:00.000Z']) {
    test(`is renewed within an hour, though the answer says ${expiresAt}`, async () => {
      const lifetime = await lifetimeOf(expiresAt);
      assert.ok(lifetime > HOUR_MS - 30_000 && lifetime <= HOUR_MS, String(lifetime));
    });
  }
});
