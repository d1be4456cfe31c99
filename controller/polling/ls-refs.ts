import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { notGitError } from '../../shared/io/git/refusals.ts';
import { Pacer } from '../../shared/io/pacer.ts';
import { credentialsOf, type GitHttp, type GitHttpAnswer, type GitHttpOptions } from './git-http.ts';
import { brokenAnswer, reportedError } from './host-errors.ts';
import { DELIMITER, FLUSH, MalformedPackets, type Packet, packet, readPackets } from './pkt-line.ts';
import type { FoundRefs } from './query-result.ts';
import { prefixesToSend, type RefQuery, WantedRefs } from './ref-query.ts';

const AGENT = packet('agent=git/2-stoker-operator\n');
const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement';
const SPACE = 32;

/** The endpoint of a repository, found by the first request and valid until an error. */
export interface Endpoint {
  url: URL;
  /** The refs of the query, if the server has protocol version 0 and sends all refs at once. */
  found: FoundRefs | undefined;
  objectFormat: string;
}

/** Finds the endpoint and the protocol of a repository; https://git-scm.com/docs/protocol-v2#_http_transport. */
export async function discover(
  http: GitHttp,
  repository: string,
  query: RefQuery,
  options: GitHttpOptions,
): Promise<Endpoint> {
  const answer = await http.get(new URL(`${repository}/info/refs?service=git-upload-pack`), options);
  const url = new URL(answer.url.href.replace(/\/info\/refs(\?.*)?$/, '/git-upload-pack'));
  const pacer = new Pacer();
  const advertisement = new Advertisement(await WantedRefs.of(query, pacer));
  const credentials = credentialsOf(options);
  try {
    for await (const line of readPackets(answer.body)) {
      if (advertisement.isComplete) break; // the rest is ignored
      if (isError(line)) throw reportedError(credentials);
      advertisement.read(line);
      if (pacer.isDue) await pacer.rest();
    }
  } catch (error) {
    if (!(error instanceof MalformedPackets)) throw error;
    throw answer.contentType === ADVERTISEMENT || advertisement.hasBegun
      ? brokenAnswer(error)
      : notGitError(credentials, error);
  }
  if (answer.contentType !== ADVERTISEMENT && !advertisement.hasBegun) throw notGitError(credentials);
  if (!advertisement.isComplete) throw brokenAnswer();
  const { objectFormat, isVersion2, found } = advertisement;
  return { url, objectFormat, found: isVersion2 ? undefined : found };
}

/** Fetches the refs of the query, with peeled tags; https://git-scm.com/docs/protocol-v2#_ls_refs. */
export async function lsRefs(
  http: Pick<GitHttp, 'post'>,
  endpoint: Endpoint,
  query: RefQuery,
  options: GitHttpOptions,
): Promise<FoundRefs> {
  const body = commandOf('ls-refs', endpoint, [
    'peel\n',
    ...prefixesToSend(query).map((prefix) => `ref-prefix ${prefix}\n`),
  ]);
  const pacer = new Pacer();
  const wanted = await WantedRefs.of(query, pacer);
  let isComplete = false;
  for await (const line of linesOf(await http.post(endpoint.url, body, options))) {
    if (isComplete) break;
    if (isError(line)) throw reportedError(credentialsOf(options));
    if (typeof line !== 'string') readRef(line, wanted);
    else if (line === 'flush') isComplete = true;
    else throw brokenAnswer();
    if (pacer.isDue) await pacer.rest();
  }
  // Without the final flush, a response that was cut off between two lines would look complete, and so would an empty one.
  if (!isComplete) throw brokenAnswer();
  return wanted.found;
}

/** Whether the server serves a commit: requests the smallest pack with it, and reads only the beginning of the response. */
export async function servesCommit(
  http: GitHttp,
  endpoint: Endpoint,
  commit: string,
  options: GitHttpOptions,
): Promise<boolean> {
  // Git ends without a message if the id has the length of another object format.
  if (commit.length !== (endpoint.objectFormat === 'sha256' ? 64 : 40)) return false;
  const body = commandOf('fetch', endpoint, ['no-progress\n', `want ${commit}\n`, 'deepen 1\n', 'done\n']);
  for await (const line of linesOf(await http.post(endpoint.url, body, options))) {
    if (/^(packfile|shallow-info|acknowledgments|wanted-refs)$/.test(textOf(line))) return true;
    // The messages of git itself, of JGit, and of servers that only serve commits that they advertise.
    if (/^ERR .*\b(not our ref|want \w+ not valid|unadvertised object)/.test(textOf(line))) return false;
    throw isError(line) ? reportedError(credentialsOf(options)) : brokenAnswer();
  }
  throw brokenAnswer();
}

/** A request of protocol version 2; https://git-scm.com/docs/protocol-v2#_command_request. */
function commandOf(command: string, { objectFormat }: Endpoint, lines: string[]): string {
  const head = [packet(`command=${command}\n`), AGENT, packet(`object-format=${objectFormat}`)];
  return [...head, DELIMITER, ...lines.map(packet), FLUSH].join('');
}

/** Lines of a response to a command. */
async function* linesOf({ body }: GitHttpAnswer): AsyncGenerator<Packet> {
  try {
    yield* readPackets(body);
  } catch (error) {
    throw error instanceof MalformedPackets ? brokenAnswer(error) : error;
  }
}

/** The first response of a server: its capabilities, or its refs with protocol version 0; https://git-scm.com/docs/gitprotocol-http#_smart_clients. */
class Advertisement {
  readonly #wanted: WantedRefs;
  #lines = 0;
  hasBegun = false;
  /** Whether the final flush has arrived; an earlier one ends the line with the name of the service. */
  isComplete = false;
  isVersion2 = false;
  objectFormat = 'sha1';

  constructor(wanted: WantedRefs) {
    this.#wanted = wanted;
  }

  get found(): FoundRefs {
    return this.#wanted.found;
  }

  read(line: Buffer | string): void {
    this.hasBegun = true;
    if (typeof line === 'string') {
      this.isComplete = line === 'flush' && this.#lines > 0;
      return;
    }
    if (line.toString('latin1', 0, 10) === '# service=') return;
    this.#lines += 1;
    if (this.#lines === 1) this.isVersion2 = line.toString('latin1') === 'version 2';
    if (this.#lines === 1 || this.isVersion2) this.#readCapabilities(line.toString('latin1'));
    if (!this.isVersion2) this.#readRef(line);
  }

  #readCapabilities(text: string): void {
    this.objectFormat = /object-format=(sha\d{1,3})/.exec(text)?.[1] ?? this.objectFormat;
  }

  /** A ref of protocol version 0 or 1; https://git-scm.com/docs/gitprotocol-pack#_reference_discovery. */
  #readRef(line: Buffer): void {
    const space = line.indexOf(SPACE);
    const zero = line.indexOf(0, space);
    const oid = oidOf(line, space);
    const name = line.toString('utf8', space + 1, zero === -1 ? line.length : zero);
    if (oid) this.#wanted.add(name.endsWith('^{}') ? name.slice(0, -3) : name, oid);
  }
}

/** Decodes names and hashes one by one, because a substring would keep the whole line in memory. */
function readRef(line: Buffer, wanted: WantedRefs): void {
  const space = line.indexOf(SPACE);
  const end = line.indexOf(SPACE, space + 1);
  const oid = oidOf(line, space);
  if (!oid) {
    if (line.toString('latin1', 0, space) === 'unborn') return;
    throw brokenAnswer();
  }
  const name = line.toString('utf8', space + 1, end === -1 ? line.length : end);
  const peeled = end === -1 ? -1 : line.indexOf(' peeled:', end);
  const start = peeled + ' peeled:'.length;
  wanted.add(name, peeled === -1 ? oid : hashAt(line, start, start + oid.length));
}

function oidOf(line: Buffer, space: number): string | undefined {
  return space === 40 || space === 64 ? hashAt(line, 0, space) : undefined;
}

/** Validates a hash, because it is passed to the status, to logs and to git unchanged. */
function hashAt(line: Buffer, start: number, end: number): string {
  const text = line.toString('latin1', start, end);
  if (!isCommitHash(text)) throw brokenAnswer();
  return text;
}

const isError = (line: Buffer | string) => textOf(line).startsWith('ERR ');
/** The beginning of a line, which is enough for all messages that are compared. */
const textOf = (line: Buffer | string) => (typeof line === 'string' ? line : line.toString('latin1', 0, 200));
