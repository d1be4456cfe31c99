import { TerminalError } from '../../shared/errors.ts';
import type { AdvertisedRefs } from '../intent/resolve-ref.ts';
import type { GitHttp, GitHttpOptions } from './git-http.ts';
import { DELIMITER, FLUSH, packet, readPackets } from './pkt-line.ts';

const AGENT = packet('agent=git/2-stoker-operator\n');

/** Where a repository answers, found by the first request and good until an error. */
export interface Endpoint {
  url: URL;
  /** Refs that an old server sent at once, instead of waiting to be asked. */
  refs?: AdvertisedRefs;
  objectFormat: string;
}

/** Finds out where and how a repository answers; https://git-scm.com/docs/protocol-v2#_http_transport. */
export async function discover(http: GitHttp, repository: string, options: GitHttpOptions): Promise<Endpoint> {
  const base = repository.replace(/\/+$/, '');
  const answer = await http.get(new URL(`${base}/info/refs?service=git-upload-pack`), options);
  const url = new URL(answer.url.href.replace(/\/info\/refs(\?.*)?$/, '/git-upload-pack'));
  const lines = linesOf(answer.body);
  const version2 = lines.some((line) => line === 'version 2');
  const format = /object-format=(sha\d+)/.exec(lines.join(' '))?.[1] ?? 'sha1';
  return { url, objectFormat: format, ...(version2 ? {} : { refs: parseAdvertisement(lines) }) };
}

/** Asks for the refs that begin with one of the prefixes, tags peeled; https://git-scm.com/docs/protocol-v2#_ls_refs. */
export async function lsRefs(
  http: GitHttp,
  endpoint: Endpoint,
  prefixes: string[],
  options: GitHttpOptions,
): Promise<AdvertisedRefs> {
  if (endpoint.refs) return filter(endpoint.refs, prefixes);
  const body = [
    packet('command=ls-refs\n'),
    AGENT,
    packet(`object-format=${endpoint.objectFormat}`),
    DELIMITER,
    packet('peel\n'),
    ...prefixes.map((prefix) => packet(`ref-prefix ${prefix}\n`)),
    FLUSH,
  ].join('');
  const { body: answer } = await http.post(endpoint.url, body, options);
  return parseLsRefs(answer);
}

/** Whether the host serves a commit: asks for it with the smallest pack there is, and reads only how the answer begins. */
export async function servesCommit(
  http: GitHttp,
  endpoint: Endpoint,
  commit: string,
  options: GitHttpOptions,
): Promise<boolean> {
  const body = [
    packet('command=fetch\n'),
    AGENT,
    packet(`object-format=${endpoint.objectFormat}`),
    DELIMITER,
    packet('no-progress\n'),
    packet(`want ${commit}\n`),
    packet('deepen 1\n'),
    packet('done\n'),
    FLUSH,
  ].join('');
  const start = (await http.postForStart(endpoint.url, body, options)).toString('latin1', 4, 24);
  return /^(packfile|shallow-info|acknowledgments|wanted-refs)/.test(start);
}

function linesOf(advertisement: Buffer): string[] {
  try {
    return [...readPackets(advertisement)].flatMap((line) => (typeof line === 'string' ? [] : [line.toString('utf8')]));
  } catch (cause) {
    throw new TerminalError('the URL answers, but not as a git repository: check spec.git.repo', {
      code: 'git.notARepository',
      reason: 'RepositoryNotFound',
      cause,
    });
  }
}

function parseLsRefs(answer: Buffer): AdvertisedRefs {
  const refs = new Map<string, string>();
  for (const line of readPackets(answer)) {
    if (typeof line === 'string') continue;
    const [oid, name, ...attributes] = line.toString('utf8').split(' ');
    if (!oid || !name || oid === 'unborn') continue;
    const peeled = attributes.find((attribute) => attribute.startsWith('peeled:'))?.slice('peeled:'.length);
    refs.set(name, peeled ?? oid);
  }
  return refs;
}

/** The advertisement of protocol version 0 or 1; https://git-scm.com/docs/gitprotocol-pack#_reference_discovery. */
function parseAdvertisement(lines: string[]): AdvertisedRefs {
  const refs = new Map<string, string>();
  for (const line of lines) {
    const [, oid, name] = /^([0-9a-f]{40,64}) ([^\0]+)/.exec(line) ?? [];
    if (oid && name) refs.set(name.replace(/\^\{\}$/, ''), oid);
  }
  return refs;
}

function filter(refs: AdvertisedRefs, prefixes: string[]): AdvertisedRefs {
  return new Map([...refs].filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix))));
}
