import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { failuresOf } from '../support/both-programs.ts';

const PAGE = '<html><head><title>secret words: Sign in</title></head></html>';

/** Starts a server with one response, and returns a function for the errors of both programs. */
async function startServer(t: TestContext, answer: RequestListener) {
  const server = await gitServerFor(t, { tls: true });
  server.redirect = answer;
  const { url } = await server.createRepository('x');
  const ca = await readFile(server.caFile ?? '', 'utf8');
  return async (secret: { token?: string }) => {
    const messages = (await failuresOf(t, url, { ca, ...secret })).map(({ message }) => message);
    for (const message of messages) assert.doesNotMatch(message, /secret words|sso\.example|SECRET/);
    return messages;
  };
}

const respond =
  (status: number, type = 'text/plain', body = 'secret words'): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);

const sendTo =
  (location: string): RequestListener =>
  (_, response) =>
    void response.writeHead(302, { location }).end();

/** Words of the message for a public repository, and with a token. */
const cases: [what: string, answer: RequestListener, anonymous: RegExp | undefined, withToken: RegExp][] = [
  ['401', respond(401), /without credentials; specify a Secret/, /rejected the credentials; check the Secret/],
  ['a status without a meaning for git', respond(418), /responded with 418 .*; check the scheme/, /418/],
  ['a status that may pass', respond(503), /503.*retrying/, /503.*retrying/],
  ['a page', respond(200, 'text/html; charset=utf-8', PAGE), /sign-in page; check/, /sign-in page; .* hasn't expired/],
  ['nothing', (_, response) => void response.writeHead(204).end(), /sign-in page; check/, /sign-in page; .* hasn't/],
  [
    'a redirect to its own page',
    (request, response) => {
      if (request.url?.startsWith('/_signin')) respond(200, 'text/html', PAGE)(request, response);
      else sendTo('/_signin?secret=words')(request, response);
    },
    /sign-in page; check/,
    /sign-in page; .* hasn't expired/,
  ],
  [
    'a redirect to the page of another server, which gets the path',
    sendTo('https://sso.example.test/oauth2/start?rd=/x/info/refs?service=git-upload-pack'),
    undefined,
    /sign-in page; check spec\.git\.repo, and check that the token/,
  ],
  [
    'a redirect in a loop',
    ({ url = '' }, response) => sendTo(url)({} as never, response),
    undefined,
    /in a loop, .* check that the token in/,
  ],
  [
    'an error in the git protocol',
    respond(
      200,
      'application/x-git-upload-pack-advertisement',
      `${packet('# service=git-upload-pack\n')}0000${packet('ERR secret words')}`,
    ),
    undefined,
    /^the git server reported an error .* check that the token in/,
  ],
  [
    "a redirect to the repository's new place",
    ({ url }, response) => sendTo(`https://sso.example.test${url}`)({} as never, response),
    undefined,
    /set spec\.git\.repo to the URL that it redirects to$/,
  ],
];

suite('controller and agent agree on the error if a git server responds with', () => {
  for (const [what, answer, anonymous, withToken] of cases)
    test(what, async (t) => {
      const messagesWith = await startServer(t, answer);
      if (anonymous) for (const message of await messagesWith({})) assert.match(message, anonymous);
      for (const message of await messagesWith({ token: 'SECRET-TOKEN' })) assert.match(message, withToken);
    });
});
