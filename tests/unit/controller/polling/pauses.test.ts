import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { statusSender } from '../../../../controller/commit-status/send-status.ts';
import { GithubApps } from '../../../../controller/polling/github-app.ts';
import { gitLimitsOf, HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { Repositories } from '../../../../controller/polling/repositories.ts';
import { RepositoryClient } from '../../../../controller/polling/repository-client.ts';
import type { TransientError } from '../../../../shared/errors.ts';
import { clientWith } from '../../../support/client-with.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { until } from '../../../support/until.ts';
import { resource } from '../commit-status/resource.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';
import { ADVERTISEMENT, queryTools, startHost, VERSION_2 } from './query-world.ts';

const MAIN = 'refs/heads/main';
const TIP = 'a'.repeat(40);
const TOKEN_ANSWER = JSON.stringify({ token: 't', expires_at: new Date(Date.now() + 3_600_000).toISOString() });

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

interface Limit {
  status: number;
  headers?: OutgoingHttpHeaders;
}

/** A git server with an API. It limits the requests for which `limits` returns a response. */
async function startLimitingHost(t: TestContext, limitOf: (request: IncomingMessage) => Limit | undefined) {
  const requests: string[] = [];
  const repo = await startHost(t, (request, response) => {
    requests.push(`${request.url}`);
    const limit = limitOf(request);
    if (limit) return response.writeHead(limit.status, limit.headers).end();
    if (request.url?.startsWith('/api')) return response.writeHead(201).end(TOKEN_ANSWER);
    response.writeHead(200, { 'Content-Type': ADVERTISEMENT });
    return response.end(request.method === 'GET' ? VERSION_2 : `${packet(`${TIP} ${MAIN}\n`)}0000`);
  });
  return { requests, repo };
}

/** The queries, tokens, and commit statuses of a controller. A Secret contains its own name, or the key of an App. */
function arrange(t: TestContext) {
  const secret = (name = '') => (name === 'app' ? PEM : name);
  const client = clientWith({
    getAs: async (path: string) => ({
      data: { key: Buffer.from(secret(path.split('/').at(-1))).toString('base64') },
    }),
  });
  const tools = { ...queryTools(), client };
  const githubApps = new GithubApps(client, tools.http);
  const repositories = new Repositories({
    connect: (source) => new RepositoryClient({ ...tools, githubApps }, source),
    limiter: new HostLimiter(DEFAULT_LIMITS),
    gitLimiter: new HostLimiter(gitLimitsOf(DEFAULT_LIMITS)),
    enqueue: () => {},
  });
  t.after(() => {
    repositories.stop();
    tools.http.close();
  });
  const send = statusSender({ client, http: tools.http, githubApps, writeWithinMs: () => 10_000 });
  /** The commit of main, or the error, for a new event. */
  const ask = async (
    key: string,
    repo: string,
    given: { token?: string; event?: string; prefixes?: string[] } = {},
  ) => {
    const { token, event = 'none', prefixes = [MAIN] } = given;
    const auth = token === undefined ? undefined : { token: { secretRef: { name: token, key: 'key' } } };
    const answer = await until(
      () =>
        repositories.query(key, {
          source: { namespace: key.split('/')[0] ?? '', git: { repo, auth } },
          prefixes,
          commit: undefined,
          intervalMs: undefined,
          event,
          isUrgent: true,
        }),
      { describe: 'the result', accept: ({ kind }) => kind !== 'querying', interval: 5 },
    );
    if (answer.kind === 'querying') return assert.fail('there is no result');
    return answer.kind === 'refs' ? answer.refs.get(MAIN) : answer.error;
  };
  return { ask, send, githubApps, repositories };
}

const limits: [what: string, limit: () => Limit, reason: string][] = [
  ['429 with an invalid time', () => ({ status: 429, headers: { 'Retry-After': '1e300' } }), 'GitRateLimited'],
  [
    '429 with a date',
    () => ({ status: 429, headers: { 'Retry-After': inTenMinutes().toUTCString() } }),
    'GitRateLimited',
  ],
  ['503 with a time', () => ({ status: 503, headers: { 'Retry-After': '600' } }), 'GitUnreachable'],
  [
    "GitHub's 403 with a used-up limit",
    () => ({ status: 403, headers: { 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': +inTenMinutes() / 1_000 } }),
    'GitRateLimited',
  ],
];
const inTenMinutes = () => new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 600_000);

suite('a pause that a git server requests', { concurrency: 4 }, () => {
  for (const [what, limit, reason] of limits)
    test(`with ${what} is kept for pushes, requests, and edits, and the message shows its end`, async (t) => {
      const { requests, repo } = await startLimitingHost(t, limit);
      const { ask } = arrange(t);
      const first = (await ask('plant/a', repo, { event: 'push 0' })) as TransientError;
      assert.equal(first.reason, reason);
      assert.match(first.message, /retrying at 20\d\d-\d\d-\d\dT/);
      for (let push = 1; push <= 5; push += 1) {
        const { message } = (await ask('plant/a', repo, { event: `push ${push}` })) as TransientError;
        assert.equal(message, first.message);
      }
      await ask('plant/a', repo, { event: 'edit', prefixes: ['refs/heads/other'] });
      assert.equal(requests.length, 1);
    });

  for (const [service, status, isShared] of [
    ['info/refs', 503, false],
    ['git-upload-pack', 429, true],
  ] as const)
    test(`with ${status} for ${service} is for ${isShared ? 'all repositories' : 'one repository'}`, async (t) => {
      const server = await gitServerFor(t);
      const broken = await server.createRepository('broken');
      const other = await server.createRepository('other');
      await broken.commit({ files: { a: '1' } });
      const commit = await other.commit({ files: { a: '1' } });
      server.redirect = ({ url = '' }, response) =>
        url.startsWith(`/broken.git/${service}`) && response.writeHead(status, { 'Retry-After': '600' }).end();
      const { ask } = arrange(t);
      const code = `git.http${status}`;
      assert.equal(((await ask('plant/a', broken.url)) as TransientError).code, code);
      const before = server.requests.length;
      assert.equal(((await ask('plant/a', broken.url, { event: 'push' })) as TransientError).code, code);
      assert.equal(server.requests.length, before);
      const answer = await ask('plant/b', other.url);
      if (isShared) assert.equal((answer as TransientError).code, code);
      else assert.equal(answer, commit);
    });

  test('ends with the request that waited for it', slow, async (t) => {
    let isLimited = true;
    const headers = { 'Retry-After': '1' };
    const { repo } = await startLimitingHost(t, () => (isLimited ? { status: 429, headers } : undefined));
    const { ask } = arrange(t);
    await ask('plant/a', repo, { event: 'push 1' });
    isLimited = false;
    const answer = await until(() => ask('plant/a', repo, { event: 'push 2' }), {
      describe: 'the commit',
      accept: (found) => typeof found === 'string',
    });
    assert.equal(answer, TIP);
  });

  test('is for one server and one credential, in all namespaces that have it', async (t) => {
    const headers = { 'Retry-After': '600' };
    const limited = await startLimitingHost(t, ({ headers: { authorization = '' } }) =>
      authorization.includes(Buffer.from('x-access-token:good').toString('base64'))
        ? undefined
        : { status: 429, headers },
    );
    const other = await startLimitingHost(t, () => undefined);
    const { ask } = arrange(t);
    for (const token of ['limited', undefined]) {
      await ask('evil/a', limited.repo, { ...(token && { token }) });
      const before = limited.requests.length;
      const answer = await ask('good/same', limited.repo, { ...(token && { token }) });
      assert.equal((answer as TransientError).code, 'git.http429');
      assert.equal(limited.requests.length, before, `another namespace with the token ${token}`);
    }
    assert.equal(await ask('good/other-token', limited.repo, { token: 'good' }), TIP);
    assert.equal(await ask('evil/other-token', limited.repo, { token: 'good' }), TIP);
    assert.equal(await ask('evil/b', other.repo, { token: 'limited' }), TIP, 'another server');
    assert.equal(await ask('good/b', other.repo), TIP, 'another server');
  });

  test("isn't requested by a 403 or a 503 without a time", async (t) => {
    for (const status of [403, 503]) {
      let isBroken = true;
      const { repo } = await startLimitingHost(t, () => (isBroken ? { status } : undefined));
      const { ask } = arrange(t);
      await ask('plant/a', repo, { event: 'push 1' });
      isBroken = false;
      assert.equal(await ask('plant/a', repo, { event: 'push 2' }), TIP);
    }
  });

  test('is kept by the tokens of an App, for one installation and key', async (t) => {
    const headers = { 'Retry-After': '600' };
    const { requests, repo } = await startLimitingHost(t, () => ({ status: 403, headers }));
    const { githubApps } = arrange(t);
    const apiBaseURL = repo.replace('/app.git', '/api');
    const tokenFor = (namespace: string, installationId: number) => {
      const githubApp = { appId: 1, installationId, apiBaseURL, privateKeySecretRef: { name: 'app', key: 'key' } };
      return githubApps.token({ namespace, git: { repo: `${repo}${namespace}`, auth: { githubApp } } });
    };
    for (const namespace of ['a', 'b', 'c'])
      await assert.rejects(tokenFor(namespace, 2), { reason: 'GitRateLimited', message: /retrying at 20/ });
    assert.equal(requests.length, 1);
    await assert.rejects(tokenFor('a', 3), { reason: 'GitRateLimited' });
    assert.equal(requests.length, 2);
  });

  test('is kept by commit statuses, for one credential', async (t) => {
    const headers = { 'Retry-After': '600' };
    const { requests, repo } = await startLimitingHost(t, ({ headers: { authorization = '' } }) =>
      authorization.endsWith('good') ? undefined : { status: 429, headers },
    );
    const { send } = arrange(t);
    const api = repo.replace('/app.git', '/api/v1');
    const post = (token: string) => {
      const { spec } = resource();
      const commitStatus = { provider: 'gitea' as const, context: 'plant', secretRef: { name: token, key: 'key' } };
      const gatewaySync = { ...resource(), spec: { ...spec, git: { ...spec.git, commitStatus } } };
      const destination = { provider: 'gitea' as const, api, project: ['a', 'b'], context: 'plant', target: api };
      const status = { commit: TIP, state: 'success' as const, description: '' };
      return send(gatewaySync, { destination, status }, new AbortController().signal);
    };
    for (let n = 0; n < 3; n += 1)
      await assert.rejects(post('limited'), { reason: 'GitRateLimited', message: /retrying at 20/ });
    assert.equal(requests.length, 1);
    await post('good');
    assert.equal(requests.length, 2);
  });
});
