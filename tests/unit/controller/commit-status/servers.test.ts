import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { judgeAnswer } from '../../../../controller/commit-status/judge-answer.ts';
import { authorizationFor } from '../../../../controller/commit-status/send-status.ts';
import { type CommitStatus, type Destination, statusRequest } from '../../../../controller/commit-status/servers.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { commit } from './resource.ts';

const places: Record<Destination['provider'], Destination> = {
  github: at('github', 'https://api.github.com'),
  gitlab: { ...at('gitlab', 'https://gitlab.com/api/v4'), project: ['plant', 'lines', 'my config'] },
  gitea: at('gitea', 'https://git.test/api/v1'),
  bitbucket: at('bitbucket', 'https://api.bitbucket.org/2.0'),
  azuredevops: { ...at('azuredevops', 'https://dev.azure.com/org'), project: ['My Project', 'my repo'] },
};

function at(provider: Destination['provider'], api: string): Destination {
  return { provider, api, project: ['plant', 'config'], context: 'plant/oslo' };
}

const failure: CommitStatus = { commit, state: 'failure', description: '11/12 gateways; a: the volume is full' };

suite('the request that posts a commit status to', () => {
  test('GitHub', () => {
    assert.deepEqual(statusRequest(places.github, failure), {
      url: `https://api.github.com/repos/plant/config/statuses/${commit}`,
      body: { state: 'failure', context: 'plant/oslo', description: failure.description },
    });
  });

  test('GitLab contains the whole project path in one segment, and another word for failure', () => {
    assert.deepEqual(statusRequest(places.gitlab, failure), {
      url: `https://gitlab.com/api/v4/projects/plant%2Flines%2Fmy%20config/statuses/${commit}`,
      body: { state: 'failed', name: 'plant/oslo', description: failure.description },
    });
  });

  test('GitLab contains the branch or the tag that led to the commit, and nothing else', () => {
    const refOf = (ref?: string) => statusRequest(places.gitlab, { ...failure, ref }).body.ref;
    const names = ['main', 'refs/heads/main', 'refs/tags/v1', 'release/2'].map(refOf);
    assert.deepEqual(names, ['main', 'main', 'v1', 'release/2']);
    for (const none of [undefined, '', 'HEAD', 'refs/merge-requests/1/head', commit, commit.slice(0, 8)])
      assert.equal(refOf(none), undefined, String(none));
    for (const provider of ['github', 'gitea', 'bitbucket', 'azuredevops'] as const)
      assert.equal(statusRequest(places[provider], { ...failure, ref: 'main' }).body.ref, undefined);
  });

  test('Gitea and Forgejo', () => {
    assert.deepEqual(statusRequest(places.gitea, { ...failure, state: 'pending' }), {
      url: `https://git.test/api/v1/repos/plant/config/statuses/${commit}`,
      body: { state: 'pending', context: 'plant/oslo', description: failure.description },
    });
  });

  test('Bitbucket contains a link and a short key', () => {
    assert.deepEqual(statusRequest(places.bitbucket, { ...failure, state: 'success' }), {
      url: `https://api.bitbucket.org/2.0/repositories/plant/config/commit/${commit}/statuses/build`,
      body: {
        state: 'SUCCESSFUL',
        key: 'plant/oslo',
        name: 'plant/oslo',
        description: failure.description,
        url: `https://bitbucket.org/plant/config/commits/${commit}`,
      },
    });
    const keys = ['one', 'other'].map((end) =>
      String(statusRequest({ ...places.bitbucket, context: `${'c'.repeat(40)}${end}` }, failure).body.key),
    );
    assert.ok(keys.every((key) => key.length === 40));
    assert.notEqual(keys[0], keys[1]);
    const context = 'c'.repeat(40);
    assert.equal(statusRequest({ ...places.bitbucket, context }, failure).body.key, context);
    const states = (['pending', 'success', 'failure'] as const).map(
      (state) => statusRequest(places.bitbucket, { ...failure, state }).body.state,
    );
    assert.deepEqual(states, ['INPROGRESS', 'SUCCESSFUL', 'FAILED']);
  });

  test('Azure DevOps', () => {
    assert.deepEqual(statusRequest(places.azuredevops, failure), {
      url: `https://dev.azure.com/org/My%20Project/_apis/git/repositories/my%20repo/commits/${commit}/statuses?api-version=5.0`,
      body: {
        state: 'failed',
        description: failure.description,
        context: { genre: 'stoker', name: 'plant/oslo' },
      },
    });
    const states = (['pending', 'success'] as const).map(
      (state) => statusRequest(places.azuredevops, { ...failure, state }).body.state,
    );
    assert.deepEqual(states, ['pending', 'succeeded']);
  });

  test('any server is one line of allowed characters, without hidden ones, within its length limit', () => {
    const words = `a\u0000b\r\nc\u202ed\u200be ${'\u{1f4a5}'.repeat(300)}\ud800`;
    const limits = { github: 140, gitlab: 255, gitea: 255, bitbucket: 255, azuredevops: 255 };
    for (const [provider, limit] of Object.entries(limits)) {
      const lineOf = (description: string) =>
        String(statusRequest(places[provider as 'github'], { ...failure, description }).body.description);
      const line = lineOf(words);
      assert.ok(line.length <= limit && line.length > limit - 3, `${line.length}`);
      assert.ok(line.startsWith('a b cde \u{1f4a5}') && line.endsWith('\u{1f4a5}…') && line.isWellFormed(), line);
      assert.equal(lineOf(` ${'x'.repeat(limit)} `), 'x'.repeat(limit));
      assert.equal(lineOf('x'.repeat(limit + 1)), `${'x'.repeat(limit - 1)}…`);
    }
  });

  test('any server leads nowhere but to the project', () => {
    for (const provider of ['github', 'gitlab', 'gitea', 'bitbucket', 'azuredevops'] as const) {
      const destination = { ...places[provider], project: ['a?b', 'c#d&e'] };
      const { pathname, search, hash } = new URL(statusRequest(destination, failure).url);
      assert.deepEqual([search, hash], [provider === 'azuredevops' ? '?api-version=5.0' : '', '']);
      assert.match(pathname, /a%3Fb(\/|%2F|\/_apis\/git\/repositories\/)c%23d%26e/);
    }
  });
});

test('a token is sent as a bearer token, unless it contains its own scheme', () => {
  const tokenOf = (secret: string) => authorizationFor(secret, 'github');
  assert.equal(tokenOf(' ghp_token\n'), 'Bearer ghp_token');
  assert.equal(tokenOf('token gitea'), 'token gitea');
  assert.equal(tokenOf('Bearer x'), 'Bearer x');
  assert.equal(tokenOf('me:secret'), `Basic ${Buffer.from('me:secret').toString('base64')}`);
  assert.equal(tokenOf('x'.repeat(4_096)), `Bearer ${'x'.repeat(4_096)}`);
  assert.equal(tokenOf('x'.repeat(4_097)), undefined);
  for (const wrong of ['', ' ', 'two words', 'a\nb', 'a\u0000b', 'Bearer a b', 'x'.repeat(5_000)])
    assert.equal(tokenOf(wrong), undefined, JSON.stringify(wrong.slice(0, 20)));
});

test('a token is sent to Azure DevOps as the password of Basic authentication', () => {
  const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
  assert.equal(authorizationFor('token\n', 'azuredevops'), basic(':token'));
  assert.equal(authorizationFor(':token', 'azuredevops'), basic(':token'));
  assert.equal(authorizationFor('me:token', 'azuredevops'), basic('me:token'));
  assert.equal(authorizationFor('Bearer entra', 'azuredevops'), 'Bearer entra');
});

const now = Date.parse('2026-01-01T00:00:00Z');
const answer = (status: number, headers: Record<string, string> = {}, body = '') => ({
  status,
  headers,
  body: Buffer.from(body),
});

/** `again GitRateLimited 60000`, `never CommitStatusRefused`, or undefined after success. */
function verdict(given: ReturnType<typeof answer>, provider: Destination['provider'] = 'github'): string | undefined {
  const problem = judgeAnswer(places[provider], given, now);
  if (!problem) return undefined;
  return problem instanceof TransientError
    ? `again ${problem.reason} ${problem.retryAfterMs}`
    : `never ${problem.reason}`;
}

suite('the response to a commit status', () => {
  const reset = String(now / 1000 + 90);
  const rows: [what: string, given: ReturnType<typeof answer>, expected: string | undefined][] = [
    ['of success', answer(201), undefined],
    ['that asks for patience', answer(429, { 'retry-after': '60' }), 'again GitRateLimited 60000'],
    ["of GitHub's second limit", answer(403, { 'retry-after': '30' }), 'again GitRateLimited 30000'],
    [
      "of GitHub's first limit",
      answer(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }),
      'again GitRateLimited 90000',
    ],
    ['that asks for years', answer(429, { 'retry-after': '99999999999' }), 'again GitRateLimited 3600000'],
    [
      'of a limit that ended',
      answer(429, { 'ratelimit-remaining': '0', 'ratelimit-reset': '1' }),
      'again GitRateLimited 1000',
    ],
  ];
  for (const [what, given, expected] of rows) test(what, () => assert.equal(verdict(given), expected));

  test('has a meaning up to the last of its kind, and a code for programs', () => {
    const codes: [from: number, to: number, code: string | undefined, reason?: string][] = [
      [200, 299, undefined],
      [300, 399, 'commitStatus.refused', 'UnexpectedRedirect'],
      [400, 400, 'commitStatus.refused', 'CommitStatusRefused'],
      [401, 401, 'commitStatus.refused', 'AuthenticationFailed'],
      [402, 407, 'commitStatus.refused', 'CommitStatusRefused'],
      [408, 408, 'commitStatus.unavailable', 'GitUnreachable'],
      [409, 409, 'commitStatus.unavailable', 'GitUnreachable'],
      [410, 428, 'commitStatus.refused', 'CommitStatusRefused'],
      [429, 429, 'commitStatus.unavailable', 'GitRateLimited'],
      [430, 499, 'commitStatus.refused', 'CommitStatusRefused'],
      [500, 599, 'commitStatus.unavailable', 'GitUnreachable'],
    ];
    for (const [from, to, code, reason] of codes) {
      for (const status of [from, to]) {
        const problem = judgeAnswer(places.github, answer(status), now);
        assert.deepEqual([problem?.code, problem?.reason], [code, reason], `${status}`);
      }
    }
    assert.equal(verdict(answer(503, { 'retry-after': '7' })), 'again GitUnreachable 7000');
    assert.equal(verdict(answer(409, { 'retry-after': '7' })), 'again GitUnreachable 7000');
  });

  test('is a success if GitLab reports that it has that state already', () => {
    const said =
      '{"message":"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition)"}';
    assert.equal(verdict(answer(400, {}, said), 'gitlab'), undefined);
    assert.equal(verdict(answer(400, {}, '{"message":"ref is invalid"}'), 'gitlab'), 'never CommitStatusRefused');
    assert.equal(verdict(answer(400, {}, said), 'github'), 'never CommitStatusRefused');
  });

  test('is a wrong token if Azure DevOps shows its sign-in page', () => {
    for (const status of [203, 302]) {
      assert.equal(verdict(answer(status), 'azuredevops'), 'never AuthenticationFailed', `${status}`);
      assert.notEqual(verdict(answer(status), 'github'), 'never AuthenticationFailed', `${status}`);
    }
    for (const status of [200, 201]) assert.equal(verdict(answer(status), 'azuredevops'), undefined, `${status}`);
    assert.match(judgeAnswer(places.azuredevops, answer(403), now)?.message ?? '', /Code: Status/);
  });

  test('from GitLab names the role that protected branches need, if it forbids the post', () => {
    assert.match(judgeAnswer(places.gitlab, answer(403), now)?.message ?? '', / Maintainer\b/);
    assert.doesNotMatch(judgeAnswer(places.github, answer(403), now)?.message ?? '', /GitLab/);
  });

  test('never contributes its own text', () => {
    for (const status of [400, 401, 403, 404, 422, 429, 500]) {
      const problem = judgeAnswer(places.github, answer(status, {}, 'the token was ghp_secret'), now);
      assert.doesNotMatch(JSON.stringify([problem?.message, problem]), /ghp_secret/);
    }
  });
});
