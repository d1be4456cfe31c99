import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { GitRepository } from '../../scripts/testbed/git-repository.ts';
import type { GitServer } from '../../scripts/testbed/git-server.ts';

/** A request that reached a Git LFS server. */
interface LfsRequest {
  path: string;
  headers: IncomingHttpHeaders;
}

/** A Git LFS server: the batch API and basic transfers; https://github.com/git-lfs/git-lfs/tree/main/docs/api. */
export interface LfsHost {
  listener: RequestListener;
  requests: LfsRequest[];
  /** Content by oid. */
  objects: Map<string, Buffer>;
  /** Base URL of content: `<url>/<oid>`. */
  downloadUrl: string;
  /** Headers that clients must send for a download. */
  downloadHeaders: Record<string, string> | undefined;
  /** Ends downloads after this number of bytes. */
  cutOffAt: number | undefined;
  /** URL to which downloads are redirected. */
  redirectUrl: string | undefined;
  /** Stores content and returns its pointer. */
  add(content: string | Buffer): string;
}

interface Batch {
  objects: { oid: string; size: number }[];
}

/** Makes a server that announces this URL for downloads; the caller has to serve it. */
export function createLfsHost(downloadUrl: string): LfsHost {
  const host: LfsHost = {
    // A client may close the connection during its request.
    listener: (request, response) => void answer(request, response).catch(() => response.destroy()),
    requests: [],
    objects: new Map(),
    downloadUrl,
    downloadHeaders: undefined,
    cutOffAt: undefined,
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
    host.requests.push({ path: url, headers });
    if (url.endsWith('/objects/batch')) {
      const batch = JSON.parse(await textOf(request)) as Batch;
      response.setHeader('content-type', 'application/vnd.git-lfs+json');
      response.end(JSON.stringify({ transfer: 'basic', objects: batch.objects.map((object) => offer(host, object)) }));
      return;
    }
    const oid = url.slice(url.lastIndexOf('/') + 1);
    if (host.redirectUrl) response.writeHead(307, { location: `${host.redirectUrl}/${oid}` }).end();
    else serve(host.objects.get(oid), { range: headers.range, cutOffAt: host.cutOffAt }, response);
  };
  return host;
}

/** Serves an object, or the rest of it (RFC 9110, 14). */
function serve(
  object: Buffer | undefined,
  { range, cutOffAt }: { range: string | undefined; cutOffAt: number | undefined },
  response: ServerResponse,
): void {
  if (!object) return void response.writeHead(404).end();
  const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const headers = { 'content-length': object.length - start };
  if (range === undefined) response.writeHead(200, headers);
  else response.writeHead(206, { ...headers, 'content-range': `bytes ${start}-${object.length - 1}/${object.length}` });
  if (cutOffAt === undefined) response.end(object.subarray(start));
  else response.write(object.subarray(start, cutOffAt), () => setTimeout(() => response.destroy(), 100));
}

function offer(
  { objects, downloadUrl, downloadHeaders: header }: LfsHost,
  { oid, size }: Batch['objects'][number],
): object {
  if (!objects.has(oid)) return { oid, size, error: { code: 404, message: 'Object does not exist on the server' } };
  return { oid, size, authenticated: true, actions: { download: { href: `${downloadUrl}/${oid}`, header } } };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Makes a repository with every file in Git LFS, through its `.gitattributes`. */
export async function createLfsRepository(server: Pick<GitServer, 'createRepository'>): Promise<GitRepository> {
  const repository = await server.createRepository('x');
  await repository.commit({ files: { '.gitattributes': '* filter=lfs diff=lfs merge=lfs -text\n' } });
  return repository;
}

/** A target with a profile that excludes `.gitattributes`. */
export const WITHOUT_ATTRIBUTES = { profile: { excludePatterns: ['.gitattributes'] } };
