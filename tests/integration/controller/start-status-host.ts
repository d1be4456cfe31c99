import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { TestContext } from 'node:test';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { openPort } from '../../support/open-port.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A status as it arrived. */
interface Post {
  path: string;
  authorization: string | undefined;
  body: Record<string, string>;
}

export interface StatusHost {
  /** Base URL of the API, as on Gitea. */
  api: string;
  ca: string;
  /** All received requests, refused or not. */
  posts: Post[];
  /** Handles later requests; stores all by default. */
  answer: (response: ServerResponse) => void;
}

/** Responds as Gitea does: https://docs.gitea.com/api/#tag/repository/operation/repoCreateStatus. */
export const store = (response: ServerResponse): void => {
  const body = { id: 1, status: 'pending', context: 'plant', description: 'x'.repeat(100), target_url: '' };
  response.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
};

/** An API for commit statuses on a loopback address, with a certificate of a separate CA. */
export async function startStatusHost(t: TestContext, address = '127.0.0.1'): Promise<StatusHost> {
  const directory = await temporaryDirectory(t, 'status-host-');
  const { caFile, certFile, keyFile } = await createCertificates(directory, ['localhost', address]);
  const certificate = { cert: await readFile(certFile), key: await readFile(keyFile) };
  const server = createServer(certificate, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    host.posts.push({ path: request.url ?? '', authorization: request.headers.authorization, body });
    host.answer(response);
  });
  const port = await openPort(t, server, address);
  const ca = await readFile(caFile, 'utf8');
  const host: StatusHost = { api: `https://${address}:${port}/api/v1`, ca, posts: [], answer: store };
  return host;
}
