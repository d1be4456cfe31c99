import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { pino } from 'pino';
import { Clone } from '../../../../agent/git/clone.ts';
import { fetchCommit } from '../../../../agent/git/fetch-commit.ts';
import { LIMIT_FILTER } from '../../../../agent/git/promisor.ts';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { createCertificates } from '../../../../scripts/testbed/certificates.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { Git, type GitLimits, type GitOptions } from '../../../../shared/io/git/git.ts';
import type { GitAccess } from '../../../../shared/io/git/git-environment.ts';
import { silentAddress } from '../../../support/dead-address.ts';
import { slow } from '../../../support/depth.ts';
import { answerFetches, CAPABILITIES, fetchAnswer, withoutBase } from '../../../support/fetch-answers.ts';
import { gitDaemonFor, gitServerFor } from '../../../support/git-server-for.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { skipWithoutSshd, startSshServer } from '../../../support/ssh-server.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { withSmallVolume } from '../support/small-volume.ts';
import { commitText, objectWriter, type RawEntry, rawCommits, treeEntry } from './support/write-object.ts';

/*
 * What git, curl, and ssh print is classified by its text, which any update may change. Here each of these messages comes
 * from the programs on the PATH, so this file also runs in the image, with the versions of Debian that it got.
 */

const COMMIT = '1'.repeat(40);
const MIB = 1024 ** 2;
const limits = { totalMs: 60_000, packBytes: 2 ** 30 };
/** Time after which a silent transfer is aborted (s): short if that is expected, and long on a busy machine. */
const STALL_SECONDS = { expected: 3, otherwise: 30 };

interface Attempt {
  access?: GitAccess;
  commit?: string;
  ref?: string;
  isWhole?: boolean;
  environment?: NodeJS.ProcessEnv;
  memory?: GitLimits;
  packBytes?: number;
}

/** Fetches into a new clone, or one at a path, and checks the kind of the failure. */
async function assertFails(t: TestContext, repo: string, code: string | RegExp, attempt: Attempt = {}, at?: string) {
  const { commit = COMMIT, ref = 'main', isWhole = true, environment, memory, packBytes = limits.packBytes } = attempt;
  const git = new Git({ ...process.env, ...environment }, memory);
  const log = pino({ level: 'silent' });
  const seconds = STALL_SECONDS[code === 'git.stalled' ? 'expected' : 'otherwise'];
  const lowSpeed = { bytesPerSecond: 500, seconds };
  const clone = new Clone({
    git,
    path: at ?? (await temporaryDirectory(t, 'contract-')),
    log,
    limits: { ...limits, lowSpeed, packBytes },
  });
  const origin = /^https?:\/\/[^/]*/.exec(repo)?.[0];
  const error = await clone
    .fetch({ repo, ref, commit, isWhole }, { origin, ...attempt.access })
    .catch((thrown) => thrown);
  assert.match(
    String(error?.code),
    code instanceof RegExp ? code : new RegExp(`^${code}$`),
    String(error?.cause ?? error),
  );
}

/** A server with the same response to every request. */
const answering = async (t: TestContext, answer: RequestListener) => `${await startHttpHost(t, answer)}/x.git`;

/** A server with the same response to every fetch. */
const sending = (t: TestContext, answer: () => Buffer) => answering(t, answerFetches(answer));

/** A server of git:// that does one thing with every connection. */
async function daemonThat(t: TestContext, act: (socket: Socket) => unknown): Promise<string> {
  return `git://127.0.0.1:${await startTcpServer(t, (socket) => socket.once('data', () => act(socket)))}/x.git`;
}

suite("git's errors over http name", { concurrency: 2 }, () => {
  for (const [what, status, code] of [
    ['missing credentials', 401, 'git.authentication'],
    ['a refusal', 403, 'git.authentication'],
    ['a missing repository', 404, 'git.repositoryNotFound'],
    ['a redirect', 301, 'git.redirect'],
    ['a server in maintenance', 503, 'git.http503'],
    ['a server that is no longer there', 410, 'git.http410'],
  ] as const)
    test(what, async (t) => {
      const headers = { location: 'http://127.0.0.1:9/', 'www-authenticate': 'Basic realm="x"' };
      const repo = await answering(t, (_, response) => void response.writeHead(status, headers).end());
      await assertFails(t, repo, code);
      const authorization = { origin: new URL(repo).origin, value: 'Basic dXNlcjpwYXNzd29yZA==' };
      await assertFails(t, repo, code, { access: { authorization } });
    });

  for (const type of ['text/html', 'text/plain'])
    test(`a page of ${type}`, async (t) => {
      const repo = await answering(t, (_, response) => void response.writeHead(200, { 'content-type': type }).end());
      await assertFails(t, repo, 'git.notARepository');
    });

  test('a server without shallow fetches', async (t) => {
    const capabilities = CAPABILITIES.replace(packet('fetch=shallow filter\n'), packet('fetch\n'));
    const body = `${packet('# service=git-upload-pack\n')}0000${capabilities}`;
    const type = { 'content-type': 'application/x-git-upload-pack-advertisement' };
    await assertFails(
      t,
      await answering(t, (_, response) => void response.writeHead(200, type).end(body)),
      'git.noShallow',
    );
  });

  test('a missing commit or ref, and IDs of another hash', slow, async (t) => {
    const server = await gitServerFor(t);
    const { url, commit } = await server.createRepository('x');
    await commit({ files: { a: '1' } });
    await assertFails(t, url, 'git.commitNotServed', { ref: COMMIT });
    await assertFails(t, url, 'git.refNotFound|git.commitNotServed', { ref: 'missing' });
    await assertFails(t, url, 'git.commitNotServed', { commit: '1'.repeat(64), ref: '1'.repeat(64) });
  });

  test('a server that does not answer', slow, async (t) => {
    await assertFails(t, await answering(t, () => {}), 'git.stalled');
  });

  test('a server that stops or disconnects in the middle of a pack', slow, async (t) => {
    const start = Buffer.concat([Buffer.from('000dpackfile\n'), Buffer.from('0105\x01PACK')]);
    for (const [code, end] of [
      ['git.stalled', () => {}],
      ['git.brokeOff', (response: Parameters<RequestListener>[1]) => setImmediate(() => response.destroy())],
    ] as const) {
      const repo = await answering(t, (request, response) => {
        if (request.method === 'GET') return void answerFetches(() => start)(request, response);
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result', 'content-length': 9_999 });
        request.resume().on('end', () => response.write(start, () => end(response)));
      });
      await assertFails(t, repo, code);
    }
  });

  test("a host name that doesn't exist", async (t) => {
    await assertFails(t, 'http://git.invalid/x.git', /^git\.(?:unknownName|noNameServer)$/);
  });

  test('a proxy that refuses the connection', async (t) => {
    const refuse = (socket: Socket) => socket.once('data', () => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${await startTcpServer(t, refuse)}` };
    await assertFails(t, 'https://git.invalid/x.git', 'git.proxy', { access: { isProxied: true }, environment });
  });

  test('certificates that are untrusted, unreadable, or for another name', slow, async (t) => {
    const directory = await temporaryDirectory(t, 'contract-');
    const other = await createCertificates(directory, ['other.test']);
    const server = await gitServerFor(t, { tls: true });
    const { url } = await server.createRepository('x');
    await assertFails(t, url, 'git.certificate');
    await assertFails(t, url, 'git.certificate', { access: { caFile: other.caFile } });
    const misnamed = await gitServerFor(t, { tls: true, certificates: other });
    await assertFails(t, `${misnamed.url}/x.git`, 'git.certificate', { access: { caFile: other.caFile } });
    const damaged = path.join(directory, 'damaged.pem');
    await writeFile(damaged, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    await assertFails(t, url, 'git.certificate', { access: { caFile: damaged } });
  });

  test('a server that does not speak TLS', async (t) => {
    const { url } = await gitServerFor(t);
    await assertFails(t, `${url.replace('http', 'https')}/x.git`, 'git.noTls');
  });

  test("a transport that isn't allowed", async (t) => {
    await assertFails(t, 'ext::sh -c true', 'git.transport');
    await assertFails(t, 'file:///nowhere', 'git.transport');
  });
});

suite("git's errors over git:// name", () => {
  test('a missing repository, and a problem that the server reports', async (t) => {
    const daemon = await gitDaemonFor(t);
    await assertFails(t, `${daemon.url}/missing.git`, 'git.repositoryNotFound');
    const error = packet('ERR out of order\n');
    await assertFails(t, await daemonThat(t, (socket) => socket.end(error)), 'git.unreachable');
  });

  test('a port that is closed or silent', slow, async (t) => {
    await assertFails(t, `git://127.0.0.1:${await freePort()}/x.git`, 'git.refused');
    const port = await freePort();
    const address = await silentAddress(t, port, '127.0.0.1');
    const sshHost = { address, port, alias: 'x', connectSeconds: 1 };
    await assertFails(t, `ssh://git@${address}:${port}/x.git`, 'git.noConnection', { access: { sshHost } });
  });

  test('a connection that the server closes', async (t) => {
    await assertFails(t, await daemonThat(t, (socket) => socket.end()), 'git.unreachable');
    await assertFails(t, await daemonThat(t, (socket) => socket.resetAndDestroy()), 'git.brokeOff');
  });
});

suite('the errors of git and ssh over ssh name', { skip: skipWithoutSshd, concurrency: 2 }, () => {
  async function arrange(t: TestContext, settings: Record<string, string> = {}) {
    const server = await startSshServer(settings);
    t.after(() => server.stop());
    const directory = await temporaryDirectory(t, 'contract-');
    const knownHostsFile = path.join(directory, 'known_hosts');
    const sshKeyFile = path.join(directory, 'key');
    await writeFile(knownHostsFile, server.knownHosts);
    await copyFile(server.keyFile, sshKeyFile);
    const { url } = await server.createRepository('x');
    return { url, directory, knownHosts: server.knownHosts, access: { knownHostsFile, sshKeyFile } };
  }

  test('an unknown key, an unreadable key, and a missing repository', slow, async (t) => {
    const { url, directory, access } = await arrange(t);
    await assertFails(t, url.replace('x.git', 'y.git'), 'git.repositoryNotFound', { access });
    const sshKeyFile = path.join(directory, 'other');
    await runCommand('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', sshKeyFile]);
    await assertFails(t, url, 'git.authentication', { access: { ...access, sshKeyFile } });
    await writeFile(sshKeyFile, 'no key\n', { mode: 0o600 });
    await assertFails(t, url, 'git.authentication', { access: { ...access, sshKeyFile } });
  });

  test('a changed host key, and an unknown host', slow, async (t) => {
    const { url, directory, knownHosts, access } = await arrange(t);
    const knownHostsFile = path.join(directory, 'others');
    await writeFile(knownHostsFile, knownHosts.replace(/(AAAA\S+)\S{8}/, '$1AAAAAAAA'));
    await assertFails(t, url, 'git.hostKey', { access: { ...access, knownHostsFile } });
    await writeFile(knownHostsFile, '');
    await assertFails(t, url, 'git.hostKey', { access: { ...access, knownHostsFile } });
  });

  test('algorithms that are no longer secure', async (t) => {
    const { url, access } = await arrange(t, { Ciphers: 'aes128-cbc' });
    await assertFails(t, url, 'git.sshAlgorithms', { access });
  });

  test("a server that doesn't serve git", slow, async (t) => {
    const { url, access } = await arrange(t, { ForceCommand: 'exit 1' });
    await assertFails(t, url, 'git.unreachable', { access });
  });

  test('a dead connection', slow, async (t) => {
    const pidFile = path.join(await temporaryDirectory(t, 'contract-'), 'pid');
    const { url, access } = await arrange(t, { ForceCommand: `echo $PPID >${pidFile}; kill -STOP $PPID; sleep 5` });
    try {
      await assertFails(t, url, 'git.stalled', { access });
    } finally {
      process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
    }
  });
});

const version = Number.parseFloat((await runCommand('git', ['version'])).replace(/^\D+/, ''));

/** An object as it is in a pack; https://git-scm.com/docs/pack-format. */
function packed(type: 'commit' | 'tree' | 'blob', content: Buffer) {
  const id = createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex');
  const kind = { commit: 1, tree: 2, blob: 3 }[type] << 4;
  const head =
    content.length < 16 ? [kind | content.length] : [0x80 | kind | (content.length & 15), content.length >> 4];
  return { id, bytes: Buffer.concat([Buffer.from(head), deflateSync(content)]) };
}

/** A repository whose objects are written as they stand, and a server that sends only some of them. */
async function startDaemon(t: TestContext) {
  const daemon = await gitDaemonFor(t);
  const repository = await daemon.createRepository('x');
  const { blobOf, treeOf, commitTree } = rawCommits(repository);
  const commitEntries = async (...entries: RawEntry[]) => {
    const tree = await treeOf(...entries);
    return { commit: await commitTree(tree), tree };
  };
  return { ...daemon, ...repository, blobOf, treeOf, commitEntries };
}

suite("git's errors about the objects that a server sends name", { concurrency: 2 }, () => {
  test("objects that fail git's check", async (t) => {
    const { url, blobOf, commitEntries } = await startDaemon(t);
    const { commit } = await commitEntries(['100644', '.git', await blobOf('x')]);
    await assertFails(t, url, 'git.unsafeObject', { commit });
  });

  test('objects of the wrong type', slow, async (t) => {
    const { url, blobOf, commitEntries, sendOnly } = await startDaemon(t);
    const blob = await blobOf('x');
    const { commit, tree } = await commitEntries(['40000', 'folder', blob]);
    await sendOnly([commit, tree, blob]);
    await assertFails(t, url, 'commit.invalid', { commit });
  });

  test('objects that are missing', slow, async (t) => {
    const { url, blobOf, commitEntries, sendOnly } = await startDaemon(t);
    const { commit, tree } = await commitEntries(['100644', 'a', await blobOf('x')]);
    await sendOnly([commit, tree]);
    await assertFails(t, url, 'git.incomplete', { commit });
    await sendOnly([commit]);
    await assertFails(t, url, 'git.incomplete', { commit });
  });

  // Older versions don't count, and crash at some depth.
  const skip = version < 2.43 && `git ${version} has no limit`;
  test('directories that are nested too deep', { skip }, async (t) => {
    const blob = packed('blob', Buffer.from('x'));
    const objects = [blob, packed('tree', treeEntry('100644', 'f', blob.id))];
    const top = () => objects.at(-1)?.id ?? '';
    for (let level = 0; level < 2_500; level += 1) objects.push(packed('tree', treeEntry('40000', 'a', top())));
    const commit = packed('commit', commitText(top()));
    const answer = fetchAnswer([...objects, commit].map(({ bytes }) => bytes));
    await assertFails(t, await sending(t, () => answer), 'commit.tooDeep', { commit: commit.id });
  });

  test('a damaged pack', async (t) => {
    const answer = fetchAnswer([]);
    answer.writeUInt8(0xff, answer.length - 10);
    await assertFails(t, await sending(t, () => answer), 'git.badPack');
  });

  test('packs and responses over the limits', slow, async (t) => {
    const server = await gitServerFor(t);
    const { url, path: at, git, commit } = await server.createRepository('x');
    const large = await commit({ files: { a: randomBytes(MIB) } });
    await assertFails(t, url, 'git.packTooLarge', { commit: large, packBytes: MIB / 2 });
    const tree = await git('rev-parse', 'main^{tree}');
    const bomb = await objectWriter(at)('commit', Buffer.concat([commitText(tree), Buffer.alloc(80 * MIB, 'x')]));
    await git('update-ref', 'refs/heads/main', bomb);
    await assertFails(t, url, 'git.answerTooLarge', { commit: bomb, memory: { memoryBytes: 32 * MIB, remedy: 'x' } });
  });

  test('a full disk', slow, async (t) => {
    const server = await gitServerFor(t);
    const { url, commit, git } = await server.createRepository('x');
    const large = await commit({ files: { a: randomBytes(20 * MIB) } });
    // Git warns of that first.
    await git('config', 'uploadpack.allowFilter', 'false');
    const attempt = { commit: large, isWhole: false };
    const directory = await temporaryDirectory(t, 'contract-');
    await withSmallVolume(t, { path: directory }, () => assertFails(t, url, 'git.noSpace', attempt, directory));
  });
});

suite('a fetch starts again because of', () => {
  /** Fetches a commit, and returns the special options of each of git's fetches. */
  async function waysOf(t: TestContext, repo: string, commit: string) {
    const gitDir = await temporaryDirectory(t, 'contract-');
    const ways: string[] = [];
    const isSpecial = (arg: string) =>
      ['--refetch', '--no-filter'].includes(arg) || arg.includes('clonefilter=blob:none');
    class WatchedGit extends Git {
      override spawn(args: string[], options: GitOptions): ChildProcess {
        if (args.includes('fetch')) ways.push(args.filter(isSpecial).join(' '));
        return super.spawn(args, options);
      }
    }
    const git = new WatchedGit(process.env);
    await git.run(['init', '--quiet', '--bare', gitDir]);
    const access = { origin: /^https?:\/\/[^/]*/.exec(repo)?.[0] };
    const options = { gitDir, access, signal: undefined, isPartial: true, filter: LIMIT_FILTER };
    await fetchCommit(git, { repo, ref: 'main', commit }, options).catch(() => {});
    return ways;
  }

  test('deltas against omitted files', async (t) => {
    const repo = await sending(t, () => fetchAnswer([withoutBase()]));
    assert.deepEqual(await waysOf(t, repo, COMMIT), ['', 'remote.sync.partialclonefilter=blob:none']);
  });

  test('harmless mistakes in old repositories', async (t) => {
    const { url, blobOf, treeOf, commitEntries } = await startDaemon(t);
    const directory = await treeOf(['100644', 'a', await blobOf('x')]);
    const { commit } = await commitEntries(['040000', 'folder', directory]);
    assert.deepEqual((await waysOf(t, url, commit)).slice(0, 2), [
      '',
      'remote.sync.partialclonefilter=blob:none --refetch --no-filter',
    ]);
  });

  test('a clone that lost a pack', async (t) => {
    const server = await gitServerFor(t);
    const { url: repo, commit } = await server.createRepository('x');
    const directory = await temporaryDirectory(t, 'contract-');
    const clone = new Clone({ git: new Git(process.env), path: directory, log: pino({ level: 'silent' }) });
    const source = { repo, ref: 'main', isWhole: true };
    const access = { origin: server.url };
    await clone.fetch({ ...source, commit: await commit({ files: { a: '1', b: '2' } }) }, access);
    await rm(path.join(directory, 'objects/pack'), { recursive: true });
    const next = await commit({ files: { a: '2' } });
    await clone.fetch({ ...source, commit: next }, access);
    assert.equal((await clone.list({ commit: next, sources: [''] }, () => {})).length, 2);
  });
});
