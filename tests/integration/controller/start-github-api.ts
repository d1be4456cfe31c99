import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { jwtVerify } from 'jose';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { openPort } from '../../support/open-port.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A request for an installation token, as it arrived. */
interface TokenCall {
  url: string;
  /** The App that signed the JWT; undefined if the signature doesn't match its key. */
  issuer: string | undefined;
  body: { repositories?: string[]; permissions?: Record<string, string> };
}

export interface GithubApi {
  /** Base URL, as that of a GitHub Enterprise Server. */
  url: string;
  ca: string;
  calls: TokenCall[];
  /** All received JWTs. */
  jwts: string[];
}

export interface GithubApiOptions {
  /** Makes the next token. */
  mint: () => string;
  /** Lifetime of tokens (ms), by default an hour, as on GitHub. */
  lifetimeMs?: number;
  /** Delay before each response (ms). */
  delayMs?: number;
}

/** An API that issues tokens as GitHub does, to clients whose JWT is signed with the App's key. */
export async function startGithubApi(
  t: TestContext,
  publicKey: KeyObject,
  { mint, lifetimeMs = 3_600_000, delayMs = 0 }: GithubApiOptions,
): Promise<GithubApi> {
  const directory = await temporaryDirectory(t, 'github-api-');
  const { caFile, certFile, keyFile } = await createCertificates(directory);
  const calls: TokenCall[] = [];
  const jwts: string[] = [];
  const certificate = { cert: await readFile(certFile), key: await readFile(keyFile) };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const given = await text(request);
    const jwt = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const options = { algorithms: ['RS256'], maxTokenAge: '10m' };
    const verified = await jwtVerify(jwt, publicKey, options).catch(() => undefined);
    const body = JSON.parse(given);
    calls.push({ url: request.url ?? '', issuer: verified?.payload.iss, body });
    jwts.push(jwt);
    await sleep(delayMs, undefined, { ref: false });
    const said = verified
      ? { token: mint(), expires_at: new Date(Date.now() + lifetimeMs).toISOString() }
      : { message: 'A JSON web token could not be decoded' };
    response.writeHead(verified ? 201 : 401, { 'Content-Type': 'application/json' }).end(JSON.stringify(said));
  };
  const server = createServer(certificate, (request, response) => {
    // The client may end in the middle.
    answer(request, response).catch(() => response.destroy());
  });
  const port = await openPort(t, server);
  return { url: `https://127.0.0.1:${port}/api/v3`, ca: await readFile(caFile, 'utf8'), calls, jwts };
}
