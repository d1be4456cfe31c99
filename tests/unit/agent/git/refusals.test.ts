import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import {
  type Credentials,
  notGit,
  redirected,
  rejected,
  reported,
  statusError,
} from '../../../../shared/io/git/refusals.ts';
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

/** The message or a part of it, which depends on what was sent, and whether it is also compared for a public repository. */
const cases: [what: string, answer: RequestListener, expected: (sent: Credentials) => string, isOften?: boolean][] = [
  ['401', respond(401), (sent) => rejected(sent, undefined), true],
  ['a status without a meaning for git', respond(418), (sent) => statusError(418, sent, '').message, true],
  ['a status that may pass', respond(503), () => ' 503', true],
  ['a page', respond(200, 'text/html; charset=utf-8', PAGE), notGit, true],
  ['nothing', (_, response) => void response.writeHead(204).end(), notGit, true],
  [
    'a redirect to its own page',
    (request, response) => {
      if (request.url?.startsWith('/_signin')) respond(200, 'text/html', PAGE)(request, response);
      else sendTo('/_signin?secret=words')(request, response);
    },
    notGit,
    true,
  ],
  [
    'a redirect to the page of another server, which gets the path',
    sendTo('https://sso.example.test/oauth2/start?rd=/x/info/refs?service=git-upload-pack'),
    (sent) => redirected(sent, 'page'),
  ],
  [
    'a redirect in a loop',
    ({ url = '' }, response) => sendTo(url)({} as never, response),
    (sent) => redirected(sent, 'circle'),
  ],
  [
    'an error in the git protocol',
    respond(
      200,
      'application/x-git-upload-pack-advertisement',
      `${packet('# service=git-upload-pack\n')}0000${packet('ERR secret words')}`,
    ),
    reported,
  ],
  [
    "a redirect to the repository's new place",
    ({ url }, response) => sendTo(`https://sso.example.test${url}`)({} as never, response),
    (sent) => redirected(sent, 'repository'),
  ],
];

suite('controller and agent agree on the error if a git server responds with', () => {
  for (const [what, answer, expected, isOften] of cases)
    test(what, async (t) => {
      const messagesWith = await startServer(t, answer);
      if (isOften) for (const message of await messagesWith({})) assert.ok(message.includes(expected('none')), message);
      for (const message of await messagesWith({ token: 'SECRET-TOKEN' }))
        assert.ok(message.includes(expected('token')), message);
    });
});
