import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { suite, test } from 'node:test';
import { jwtVerify } from 'jose';
import type { GitHttp } from '../../../../controller/polling/git-http.ts';
import { GithubApps, tokenHostOf } from '../../../../controller/polling/github-app.ts';
import { TerminalError, TransientError } from '../../../../shared/errors.ts';
import { clientWith } from '../../../support/client-with.ts';

const HOUR_MS = 3_600_000;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })).toString('base64');

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: object | string;
}

/** Apps with this Secret, in base64, whose server responds with `answer` each time. */
function appsWith(answer: (call: number) => Answer, secret = key) {
  const client = clientWith({
    getAs: async (path: string) => ({
      data: path.endsWith('/app') ? { key: secret } : { ca: Buffer.from('a CA').toString('base64') },
    }),
  });
  const calls: { url: string; body: object; options: Parameters<GitHttp['postJson']>[2] }[] = [];
  const postJson: GitHttp['postJson'] = async (url, body, options) => {
    calls.push({ url: url.href, body, options });
    const { status, headers = {}, body: given = {} } = answer(calls.length);
    return { status, headers, body: Buffer.from(typeof given === 'string' ? given : JSON.stringify(given)) };
  };
  return { apps: new GithubApps(client, { postJson }), calls };
}

const githubApp = { appId: 17, installationId: 23, privateKeySecretRef: { name: 'app', key: 'key' } };
/** Parameters of a request for the token of a repository. */
const requestOf = (repo = 'https://github.com/plant/config', more: object = {}) => ({
  namespace: 'ns',
  git: { repo, auth: { githubApp: { ...githubApp, ...more } } },
});
/** A response with a token that has the number of the call. */
const good = (call: number, expiresAt = '2126-01-01T00:00:00Z') => ({
  status: 201,
  body: { token: `t${call}`, expires_at: expiresAt },
});
const tokenOf = (answer: Answer) => appsWith(() => answer).apps.token(requestOf());
const tokenWith = (secret: string) => appsWith(good, secret).apps.token(requestOf());

suite('a token of a GitHub App', () => {
  for (const [what, given, ms] of [
    ['as long as the response says', () => new Date(Date.now() + HOUR_MS / 2).toISOString(), HOUR_MS / 2],
    ['an hour, although the response says more', () => '+275760-09-13T00:00:00.000Z', HOUR_MS],
  ] as const)
    test(`is valid ${what}`, async () => {
      const lifetime = (await tokenOf(good(1, given()))).expiresAt - Date.now();
      assert.ok(lifetime > ms - 30_000 && lifetime <= ms, String(lifetime));
    });
});

suite('after a refusal, GitHub', () => {
  const inSeconds = () => ({ 'retry-after': '90' });
  const asDate = () => ({ 'retry-after': new Date(Date.now() + 90_000).toUTCString() });
  const inAMinute = () => String(Math.floor(Date.now() / 1000) + 60);
  const usedUp = () => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inAMinute() });
  for (const [headersOf, waitMs] of [
    [inSeconds, 90_000],
    [asDate, 90_000],
    [usedUp, 60_000],
  ] as const)
    test(`isn't queried for the requested time: ${JSON.stringify(Object.keys(headersOf()))}`, async () => {
      await assert.rejects(tokenOf({ status: 403, headers: headersOf() }), (error) => {
        assert.ok(error instanceof TransientError && error.reason === 'GitRateLimited', String(error));
        const asked = error.retryAfterMs ?? 0;
        return asked > waitMs - 30_000 && asked <= waitMs + 1_000;
      });
    });

  test('counts as having rejected the App if it names no limit', async () => {
    const headers = { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': inAMinute() };
    await assert.rejects(tokenOf({ status: 403, headers }), TerminalError);
  });
});

/** DER of a fabricated RSA key; https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.2. */
function keyWith(modulusBytes: number): Buffer {
  const der = (tag: number, content: Buffer) =>
    Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 255]), content]);
  const half = modulusBytes / 2;
  const lengths = [modulusBytes, 3, modulusBytes, half, half, half, half, half];
  const numbers = lengths.map((length) => der(2, Buffer.alloc(length, 0x55)));
  return der(0x30, Buffer.concat([Buffer.from([2, 1, 0]), ...numbers]));
}

suite('the key of a GitHub App', () => {
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const bodyOf = (text: string) => text.replace(/-----.*-----/g, '').trim();
  const reformatted: [what: string, text: string][] = [
    ['with escapes of Windows', pem.replaceAll('\n', '\\r\\n')],
    ['in quotes, with escapes', JSON.stringify(pem)],
    ['in base64', base64(pem)],
    ['in one line without blanks', pkcs8.replaceAll('\n', '')],
    ['indented', pem.replace(/^/gm, '    ')],
    ['with a byte order mark and line ends of Windows', `\ufeff${pkcs8.replaceAll('\n', '\r\n')}`],
    ['as the body only', bodyOf(pem)],
    ['after other text', `key:\n${pem}`],
  ];
  for (const [what, text] of reformatted)
    test(`is accepted ${what}`, async () => assert.equal((await tokenWith(base64(text))).token, 't1'));

  const pkcs8Format = { type: 'pkcs8', format: 'pem' } as const;
  const encrypted = { ...pkcs8Format, cipher: 'aes-256-cbc', passphrase: 'x' } as const;
  const unusable: [what: string, text: string | Buffer, limit?: RegExp][] = [
    ['a public key of ssh', `ssh-rsa AAAAB3NzaC1yc2E= me@host`],
    ['a key of ssh', '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n'],
    ['encrypted', privateKey.export(encrypted)],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
    ['a fingerprint', `SHA256:${'A'.repeat(43)}=`],
    ['empty', ' \n'],
    ['cut off', pem.slice(0, 900)],
    ['damaged', pem.replace('MII', 'AAA')],
    ['something else', 'hunter2'],
    ['of 10,240 bits', keyWith(1_280).toString('base64'), / 10239 .* 8192 /],
    ['of a megabyte', 'k'.repeat(1_000_000), / 16384 /],
    ['of another kind', generateKeyPairSync('ed25519').privateKey.export(pkcs8Format)],
  ];
  for (const [what, text, limit = /./] of unusable)
    test(`is rejected if it is ${what}, and signs nothing`, async () => {
      const before = process.cpuUsage();
      await assert.rejects(tokenWith(base64(text.toString())), (error: TerminalError) => {
        assert.deepEqual([error.code, error.reason], ['githubApp.privateKey', 'AuthenticationFailed']);
        assert.match(error.message, limit);
        assert.doesNotMatch(error.message, /error:|DECODER|asn1/i);
        return true;
      });
      // Includes all threads, because keys are used in those of the pool.
      const { user, system } = process.cpuUsage(before);
      assert.ok(user + system < 500_000, `${user + system} µs`);
    });
});

suite('the request to GitHub for a token', () => {
  const caSecretRef = { name: 'ca', key: 'ca' };

  test("names the installation and the repository, and is signed with the App's key", async () => {
    const { apps, calls } = appsWith(good);
    const began = Math.floor(Date.now() / 1000);
    const { namespace, git } = requestOf('https://github.com/plant/config.git');
    await apps.token({ namespace, git: { ...git, caSecretRef } });
    const [{ url, body, options } = assert.fail('nobody was asked')] = calls;
    assert.equal(url, 'https://api.github.com/app/installations/23/access_tokens');
    assert.deepEqual(body, { repositories: ['config'], permissions: { contents: 'read' } });
    assert.equal(options.ca, 'a CA');
    assert.ok(options.signal);
    const [kind, jwt = ''] = (options.authorization ?? '').split(' ');
    assert.equal(kind, 'Bearer');
    const { payload, protectedHeader } = await jwtVerify(jwt, createPublicKey(privateKey));
    assert.deepEqual(protectedHeader, { alg: 'RS256', typ: 'JWT' });
    const { iss, iat = 0, exp = 0, ...others } = payload;
    assert.deepEqual([iss, exp - iat, others], ['17', 540, {}]);
    assert.ok(iat >= began - 60 && iat <= began - 59 + 30, `${iat}`);
  });

  test('goes to the server that the resource names', async () => {
    const { apps, calls } = appsWith(good);
    const request = requestOf('https://ghe.test/plant/config', { apiBaseURL: 'https://ghe.test/api/v3/' });
    await apps.token(request);
    assert.equal(calls[0]?.url, 'https://ghe.test/api/v3/app/installations/23/access_tokens');
    assert.equal(tokenHostOf(request), 'ghe.test');
    assert.equal(tokenHostOf(requestOf()), 'api.github.com');
    assert.equal(tokenHostOf(requestOf('https://x.test/a/b', { apiBaseURL: 'no URL' })), '');
  });

  const withoutApi: [repo: string, apiBaseURL?: string][] = [
    ['https://gitlab.com/plant/config'],
    ['https://github.com.evil.test/plant/config'],
    ['https://ghe.com/plant/config'],
    ['https://a.b.ghe.com/plant/config'],
    ['https://ghe.test/plant/config', 'https://'],
    ['https://ghe.test/plant/config', 'https://me:secret@ghe.test/api/v3'],
    ['https://ghe.test/plant/config', 'https://ghe.test/api/v3?x='],
  ];
  for (const [repo, apiBaseURL] of withoutApi)
    test(`isn't sent for ${repo} if the API is ${apiBaseURL ?? 'not specified'}`, async () => {
      const { apps, calls } = appsWith(good);
      const asked = apps.token(requestOf(repo, apiBaseURL === undefined ? {} : { apiBaseURL }));
      await assert.rejects(asked, { code: 'githubApp.apiUnknown', reason: 'GitHubAPIUnknown' });
      assert.deepEqual(calls, []);
    });

  test('names the same repository however its URL is written, and shares its token', async () => {
    const { apps, calls } = appsWith(good);
    for (const ending of ['', '//', '.GIT', '.git//', '%2egit/'])
      assert.equal((await apps.token(requestOf(`https://github.com/plant/config${ending}`))).token, 't1');
    await apps.token(requestOf('https://github.com//other//conf%69g2//'));
    assert.deepEqual(
      calls.map(({ body }) => (body as { repositories: string[] }).repositories),
      [['config'], ['config2']],
    );
  });

  for (const repo of ['https://github.com/plant/..%2F', 'https://github.com/plant/%ff'])
    test(`isn't sent for ${repo}, which names no repository`, async () => {
      const { apps, calls } = appsWith(good);
      await assert.rejects(apps.token(requestOf(repo)), { reason: 'InvalidRepository' });
      assert.deepEqual(calls, []);
    });

  test('names further repositories for submodules, but not to post statuses, which is its only permission then', async () => {
    const { apps, calls } = appsWith(good);
    const request = requestOf(undefined, { repositories: ['lib', 'config'] });
    await apps.token(request);
    await apps.token({ ...request, mayWrite: 'statuses' });
    assert.deepEqual(
      calls.map(({ body }) => body),
      [
        { repositories: ['config', 'lib'], permissions: { contents: 'read' } },
        { repositories: ['config'], permissions: { statuses: 'write' } },
      ],
    );
    assert.equal(apps.known(request)?.token, 't1', 'agents never get the other one');
  });

  test("has errors of a connection that don't blame the repository", async () => {
    const lost = new TransientError("the git server's name can't be resolved; check spec.git.repo, and the DNS", {
      code: 'git.unknownName',
      reason: 'GitUnreachable',
    });
    const { apps } = appsWith(() => {
      throw lost;
    });
    const asked = apps.token(requestOf('https://acme.ghe.com/plant/config'));
    await assert.rejects(asked, (error: TransientError) => {
      assert.equal(error.code, 'git.unknownName');
      assert.match(error.message, /https:\/\/api\.acme\.ghe\.com/);
      assert.doesNotMatch(error.message, /spec\.git\.repo/);
      return true;
    });
  });

  test('is sent once for all that need the same token, until ten minutes before it expires', async () => {
    const { apps, calls } = appsWith((call) =>
      good(call, new Date(Date.now() + (call === 1 ? 10 : 11) * 60_000).toISOString()),
    );
    const request = requestOf();
    assert.equal(apps.known(request), undefined);
    for (const { token } of await Promise.all([apps.token(request), apps.token(request)])) assert.equal(token, 't1');
    assert.equal(apps.known(request), undefined, 'it ends too soon');
    for (let n = 0; n < 2; n += 1) assert.equal((await apps.token(request)).token, 't2');
    assert.equal(apps.known(request)?.token, 't2');
    assert.equal(calls.length, 2);
    apps.forget(request);
    assert.equal(apps.known(request), undefined);
    const others = [
      { ...request, namespace: 'other' },
      requestOf('https://github.com/a/c'),
      { ...request, git: { ...request.git, caSecretRef } },
      requestOf(undefined, { installationId: 24 }),
    ];
    for (const other of [request, ...others]) await apps.token(other);
    assert.equal(calls.length, 7, 'nobody else has it');
  });

  test("is repeated after a failure, which isn't cached, but not for a resource that was dropped", async () => {
    const { apps } = appsWith((call) => (call === 1 ? { status: 503 } : good(call)));
    const request = requestOf();
    await assert.rejects(apps.token(request));
    const asked = apps.token(request);
    apps.forget(request);
    assert.equal((await asked).token, 't2');
    assert.equal(apps.known(request), undefined);
  });

  const unavailable = { code: 'githubApp.unavailable', reason: 'GitUnreachable' };
  const refused = { code: 'githubApp.refused', reason: 'AuthenticationFailed' };
  const expires_at = '2126-01-01T00:00:00Z';
  const answers: [what: string, answer: Answer, error: object | undefined][] = [
    ['too many', { status: 429 }, { code: 'githubApp.rateLimited', reason: 'GitRateLimited' }],
    ['out of order', { status: 500 }, unavailable],
    ['the last below that', { status: 499 }, refused],
    ['another success', { status: 200, body: { token: 't', expires_at } }, refused],
    ['no JSON', { status: 201, body: 'hello' }, refused],
    ['an empty one', { status: 201, body: { token: '', expires_at } }, refused],
    ['the longest', { status: 201, body: { token: 't'.repeat(4_096), expires_at } }, undefined],
    ['a longer one', { status: 201, body: { token: 't'.repeat(4_097), expires_at } }, refused],
    ['no time', { status: 201, body: { token: 't', expires_at: 'soon' } }, refused],
  ];
  for (const [what, answer, error] of answers)
    test(`is answered ${what}`, async () => {
      if (error) await assert.rejects(tokenOf(answer), error);
      else await tokenOf(answer);
    });
});
