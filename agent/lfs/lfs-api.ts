import * as v from 'valibot';
import { withoutTrailingSlashes } from '../../shared/domain/files/relative-path.ts';
import { ANSWER_BOUNDS, readJson } from '../../shared/domain/text/read-json.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { bytesOf } from '../../shared/io/http/bytes-of.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import type { LfsPointer } from '../plan/lfs-pointer.ts';
import { errorOfStatus, lfsError } from './lfs-errors.ts';

export interface LfsTransfer {
  repo: string;
  access: GitAccess;
  signal: AbortSignal | undefined;
  /** Time limit of the transfer (ms). */
  fetchTimeoutMs?: number;
}

/** The batch API of a server; https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md. */
export interface LfsServer {
  url: URL;
  /** For the origin of the URL only. */
  headers: Record<string, string>;
  /** Whether content must arrive over https. */
  isSecure: boolean;
}

/** Download of an object. */
export interface LfsDownload {
  url: URL;
  headers: Record<string, string>;
}

const MEDIA_TYPE = 'application/vnd.git-lfs+json';
/** Maximum size of a response about a hundred objects (bytes). */
const MAX_ANSWER = 1024 * 1024;

const header = v.optional(v.record(v.string(), v.string()), {});
const batchSchema = v.object({
  transfer: v.optional(v.literal('basic')),
  objects: v.array(
    v.object({
      oid: v.string(),
      actions: v.optional(v.object({ download: v.optional(v.object({ href: v.string(), header })) })),
      error: v.optional(v.object({ code: v.number() })),
    }),
  ),
});
const authenticateSchema = v.object({ href: v.string(), header });

/**
 * Returns the Git LFS server of a repository. A `.lfsconfig` in the repository is ignored: it could send credentials
 * elsewhere. Over ssh, queries the git server with `git-lfs-authenticate`.
 */
export async function lfsServerOf(git: Git, transfer: LfsTransfer): Promise<LfsServer> {
  const { repo, access } = transfer;
  const at = access.rewrite?.from === repo ? access.rewrite.to : repo;
  if (/^git:/i.test(at)) throw lfsError('transport');
  if (!/^https?:/i.test(at)) return await askBySsh(git, { ...transfer, repo: at });
  const url = new URL(lfsEndpoint(at));
  const { origin, value } = access.authorization ?? {};
  const headers: Record<string, string> = value !== undefined && origin === url.origin ? { Authorization: value } : {};
  return { url, headers, isSecure: url.protocol === 'https:' };
}

/** Returns the URL of the server for a repository over http or https, by the rule of git-lfs. */
export function lfsEndpoint(repo: string): string {
  const url = withoutTrailingSlashes(repo);
  return `${url}${url.endsWith('.git') ? '' : '.git'}/info/lfs`;
}

async function askBySsh(git: Git, { repo, access, signal }: LfsTransfer): Promise<LfsServer> {
  const { destination, port, path } = sshPlaceOf(repo);
  const command = `git-lfs-authenticate ${/^[\w./~+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`} download`;
  const args = [...(port ? ['-p', port] : []), '--', destination, command];
  const output = await git.runBySsh(args, { access, signal, maxOutputBytes: MAX_ANSWER });
  const answer = parse(authenticateSchema, output);
  const url = urlOf(answer.href);
  if (url.protocol !== 'https:') throw lfsError('insecure');
  return { url, headers: usable(answer.header), isSecure: true };
}

function sshPlaceOf(repo: string): { destination: string; port: string; path: string } {
  if (!repo.includes('://')) {
    const colon = repo.indexOf(':');
    return { destination: repo.slice(0, colon), port: '', path: repo.slice(colon + 1) };
  }
  const { username, hostname, port, pathname } = new URL(repo);
  const user = username && `${decodeURIComponent(username)}@`;
  return { destination: `${user}${hostname.replace(/^\[|\]$/g, '')}`, port, path: decodeURIComponent(pathname) };
}

interface Asking {
  server: LfsServer;
  ca: string | undefined;
  http: GuardedHttp;
  signal: AbortSignal;
}

/** Queries the download URLs of objects by their oids. Throws if one of them is missing. */
export async function offersOf(
  pointers: LfsPointer[],
  { server, ca, http, signal }: Asking,
): Promise<Map<string, LfsDownload>> {
  const body = JSON.stringify({ operation: 'download', transfers: ['basic'], hash_algo: 'sha256', objects: pointers });
  const start = new URL(`${withoutTrailingSlashes(server.url.href)}/objects/batch`);
  const { response } = await http.follow(start, (url) => {
    if (url.origin !== start.origin) throw lfsError('redirect');
    const headers = { ...server.headers, Accept: MEDIA_TYPE, 'Content-Type': MEDIA_TYPE };
    return { method: 'POST', headers, body, ca, signal };
  });
  if (response.statusCode !== 200) {
    response.destroy();
    throw errorOfStatus(response, 'server');
  }
  const chunks: Buffer[] = [];
  for await (const chunk of bytesOf(response, { bytes: MAX_ANSWER })) chunks.push(chunk);
  const { objects } = parse(batchSchema, Buffer.concat(chunks));
  return new Map(objects.map((object) => [object.oid, offerOf(object, server)] as const));
}

function offerOf(
  { actions, error }: v.InferOutput<typeof batchSchema>['objects'][number],
  server: LfsServer,
): LfsDownload {
  if (error?.code === 401 || error?.code === 403) throw lfsError('authentication');
  if (!actions?.download || error)
    throw lfsError(!error || [404, 410].includes(error.code) ? 'objectNotFound' : 'unreachable');
  const { href, header: headers } = actions.download;
  const url = urlOf(href, server.url);
  if (url.username || url.password) throw lfsError('unusable');
  const given = usable(headers);
  const isNamed = Object.keys(given).some((name) => name.toLowerCase() === 'authorization');
  return { url, headers: url.origin === server.url.origin && !isNamed ? { ...server.headers, ...given } : given };
}

/** Drops headers that frame the request, which the server must not choose. */
function usable(headers: Record<string, string>): Record<string, string> {
  const frame = /^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|range|proxy-.*)$/i;
  const isPlain = ([name, value]: [string, string]) => /^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value);
  return Object.fromEntries(Object.entries(headers).filter((entry) => isPlain(entry) && !frame.test(entry[0])));
}

function urlOf(text: string, base?: URL): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw lfsError('unusable');
  return url;
}

function parse<TSchema extends v.GenericSchema>(schema: TSchema, answer: Buffer): v.InferOutput<TSchema> {
  const parsed = readJson(schema, answer, ANSWER_BOUNDS);
  if (parsed === undefined) throw lfsError('unusable');
  return parsed;
}
