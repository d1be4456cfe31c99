import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { deliver, failuresOf } from '../support/both-programs.ts';

const PAGE = '<html><head><title>secret words: Sign in</title></head></html>';

/** Errors of both programs for a server with one response, with and without a token. */
async function messagesOf(t: TestContext, answer: RequestListener, token?: string) {
  const server = await gitServerFor(t, { tls: true });
  server.redirect = answer;
  const repository = await server.createRepository('x');
  const ca = await readFile(server.caFile ?? '', 'utf8');
  const errors = await failuresOf(t, repository.url, { ca, ...(token && { token }) });
  const messages = errors.map(({ message }) => message);
  for (const message of messages) assert.doesNotMatch(message, /secret words|sso\.example|SECRET/);
  return messages;
}

const respond =
  (status: number, type = 'text/plain', body = 'secret words'): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);

const sendTo =
  (location: string): RequestListener =>
  (_, response) =>
    void response.writeHead(302, { location }).end();

suite('controller and agent agree on the error if a git server', () => {
  for (const status of [401, 403])
    test(`responds with ${status}`, async (t) => {
      for (const message of await messagesOf(t, respond(status))) {
        assert.match(message, /denied access without credentials; specify a Secret in spec\.git\.auth/);
      }
      for (const message of await messagesOf(t, respond(status), 'SECRET-TOKEN'))
        assert.match(message, /rejected the credentials; check the Secret .* with the user name "x-access-token"/);
    });

  for (const [status, name] of [
    [400, 'Bad Request'],
    [402, 'Payment Required'],
    [405, 'Method Not Allowed'],
    [406, 'Not Acceptable'],
    [410, 'Gone'],
    [418, "I'm a Teapot"],
    [426, 'Upgrade Required'],
    [451, 'Unavailable For Legal Reasons'],
  ] as const)
    test(`responds with status ${status}`, async (t) => {
      for (const message of await messagesOf(t, respond(status))) {
        assert.ok(message.startsWith(`the git server responded with ${status} (${name}); check the scheme`), message);
      }
    });

  for (const status of [408, 423, 429, 500, 503])
    test(`responds with ${status}, which is transient`, async (t) => {
      for (const message of await messagesOf(t, respond(status)))
        assert.match(
          message,
          new RegExp(`^the git server (?:responded with|returned) ${status}.*retrying(?: at \\S+)?$`),
        );
    });

  for (const [what, answer] of [
    ['answers with a page', respond(200, 'text/html; charset=utf-8', PAGE)],
    ['answers with a page and 203', respond(203, 'text/html', PAGE)],
    ['answers with JSON', respond(200, 'application/json', '{"error":"secret words"}')],
    ['answers with words', respond(200)],
    ['answers with nothing', respond(200, 'text/html', '')],
    ['answers with nothing and 204', (_, response) => void response.writeHead(204).end()],
    [
      'redirects to its own page',
      (request, response) => {
        if (request.url?.startsWith('/_signin')) respond(200, 'text/html', PAGE)(request, response);
        else sendTo('/_signin?secret=words')(request, response);
      },
    ],
  ] as [string, RequestListener][])
    test(`${what}`, async (t) => {
      for (const message of await messagesOf(t, answer))
        assert.match(
          message,
          /possibly a sign-in page; check spec\.git\.repo, and specify a Secret in spec\.git\.auth/,
        );
      for (const message of await messagesOf(t, answer, 'SECRET-TOKEN'))
        assert.match(
          message,
          /sign-in page; .*check that the token in the Secret specified in spec\.git\.auth hasn't exp/,
        );
    });

  for (const location of [
    'https://sso.example.test/login?rd=%2Fx%2Finfo%2Frefs',
    'https://sso.example.test/oauth2/start?rd=/x/info/refs?service=git-upload-pack',
    'http://127.0.0.1/plain',
  ])
    test(`redirects to ${location}`, async (t) => {
      for (const message of await messagesOf(t, sendTo(location), 'SECRET-TOKEN'))
        assert.match(message, /sign-in page; check spec\.git\.repo, and check that the token in the Secret specified/);
    });

  test('redirects in a loop', async (t) => {
    const answer: RequestListener = ({ url = '' }, response) => sendTo(url)({} as never, response);
    for (const message of await messagesOf(t, answer, 'SECRET-TOKEN'))
      assert.match(
        message,
        /^the git server redirects this URL in a loop, as .*; check .*, and check that the token in/,
      );
  });

  test('reports an error in the git protocol', async (t) => {
    const lines = `${packet('# service=git-upload-pack\n')}0000${packet('ERR secret words')}`;
    const answer = respond(200, 'application/x-git-upload-pack-advertisement', lines);
    for (const message of await messagesOf(t, answer, 'SECRET-TOKEN'))
      assert.match(message, /^the git server reported an error .*; check spec\.git\.repo, and check that the token in/);
  });

  test("redirects to the repository's new place", async (t) => {
    const answer: RequestListener = ({ url }, response) =>
      sendTo(`https://sso.example.test${url}`)({} as never, response);
    for (const message of await messagesOf(t, answer, 'SECRET-TOKEN'))
      assert.equal(message, 'the git server redirects this URL; set spec.git.repo to the URL that it redirects to');
  });
});

test('a git server without shallow fetches is reported as such', async (t) => {
  const server = await gitServerFor(t);
  const { url } = await server.createRepository('x');
  const lines = [
    `${'ab'.repeat(20)} HEAD\0multi_ack side-band-64k allow-reachable-sha1-in-want`,
    `${'ab'.repeat(20)} refs/heads/main`,
  ];
  const advertisement = `${packet('# service=git-upload-pack\n')}0000${lines.map((line) => packet(`${line}\n`)).join('')}0000`;
  server.redirect = respond(200, 'application/x-git-upload-pack-advertisement', advertisement);
  await assert.rejects(deliver(t, { repo: url, commit: 'ab'.repeat(20) }), {
    name: 'TerminalError',
    reason: 'UnsupportedServer',
    message: /doesn't support shallow fetches .* update the server/,
  });
});
