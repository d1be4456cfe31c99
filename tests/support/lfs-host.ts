import { createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';

/** A request that reached a Git LFS host. */
interface LfsRequest {
  path: string;
  authorization: string | undefined;
}

/** A Git LFS host: the batch API and basic transfers; https://github.com/git-lfs/git-lfs/tree/main/docs/api. */
export interface LfsHost {
  listener: RequestListener;
  requests: LfsRequest[];
  /** What it serves, by oid. */
  objects: Map<string, Buffer>;
  /** Where content is to be had: `<url>/<oid>`. */
  downloadUrl: string;
  /** Where downloads are sent on to, instead of being answered. */
  redirectUrl: string | undefined;
  /** Takes content in and gives the pointer to it. */
  add(content: string | Buffer): string;
}

interface Batch {
  objects: { oid: string; size: number }[];
}

/** Makes a host that says to download from this URL; it has to be served by somebody. */
export function createLfsHost(downloadUrl: string): LfsHost {
  const host: LfsHost = {
    listener: (request, response) => void answer(request, response),
    requests: [],
    objects: new Map(),
    downloadUrl,
    redirectUrl: undefined,
    add: (given) => {
      const content = Buffer.from(given);
      const oid = createHash('sha256').update(content).digest('hex');
      host.objects.set(oid, content);
      return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
    },
  };
  const answer: (...args: Parameters<RequestListener>) => Promise<void> = async (request, response) => {
    const { url = '', headers } = request;
    host.requests.push({ path: url, authorization: headers.authorization });
    if (url.endsWith('/objects/batch')) {
      const batch = JSON.parse(await textOf(request)) as Batch;
      response.setHeader('content-type', 'application/vnd.git-lfs+json');
      response.end(JSON.stringify({ transfer: 'basic', objects: batch.objects.map((object) => offer(host, object)) }));
      return;
    }
    const oid = url.slice(url.lastIndexOf('/') + 1);
    if (host.redirectUrl) response.writeHead(307, { location: `${host.redirectUrl}/${oid}` }).end();
    else if (host.objects.has(oid)) response.end(host.objects.get(oid));
    else response.writeHead(404).end();
  };
  return host;
}

function offer({ objects, downloadUrl }: LfsHost, { oid, size }: Batch['objects'][number]): object {
  if (!objects.has(oid)) return { oid, size, error: { code: 404, message: 'Object does not exist on the server' } };
  return { oid, size, authenticated: true, actions: { download: { href: `${downloadUrl}/${oid}` } } };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
