import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { suite, test } from 'node:test';
import { transfer } from '../../../../agent/git/transfer.ts';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { gitSandbox } from '../support/git-sandbox.ts';

const OID = 'a'.repeat(40);
const FLUSH = '0000';
const SERVICE = `${packet('# service=git-upload-pack\n')}${FLUSH}`;
const V0 = `${SERVICE}${packet(`${OID} HEAD\0side-band-64k shallow\n`)}${packet(`${OID} refs/heads/main\n`)}${FLUSH}`;
const V2 = `${SERVICE}${packet('version 2\n')}${packet('ls-refs\n')}${packet('fetch=shallow\n')}${packet('object-format=sha1\n')}${FLUSH}`;
const REFS = `${packet(`${OID} refs/heads/main\n`)}${FLUSH}`;

interface Host {
  refs: string;
  /** The response to a fetch, and to requests for refs if that differs. */
  fetched: string;
  listed?: string;
}

/** Formats in which git prints a server's messages. */
const waysOf = (words: string): Record<string, Host> => ({
  'an error by protocol 0': { refs: V0, fetched: `${packet('NAK\n')}${packet(`\x03${words}`)}${FLUSH}` },
  'an error by protocol 2': { refs: V2, fetched: `${packet('packfile\n')}${packet(`\x03${words}`)}${FLUSH}` },
  'an error that looks like progress': {
    refs: V2,
    fetched: `${packet('packfile\n')}${packet(`\x03Total 3 (delta 0)        \n${words}`)}${FLUSH}`,
  },
  'words next to a bad pack': {
    refs: V2,
    fetched: `${packet('packfile\n')}${packet(`\x01${'bad!'.repeat(20)}`)}${packet(`\x03${words}`)}${FLUSH}`,
  },
  'a shallow line': { refs: V0, fetched: `${packet(`shallow ${words}`)}${FLUSH}` },
  'something else than a shallow line': { refs: V0, fetched: `${packet(words)}${FLUSH}` },
  'shallow-info': { refs: V2, fetched: `${packet('shallow-info\n')}${packet(words)}0001` },
  'a section': { refs: V2, fetched: `${packet(words)}${FLUSH}` },
  refs: { refs: V2, fetched: FLUSH, listed: `${packet(words)}${FLUSH}` },
  'refs by protocol 0': { refs: `${SERVICE}${packet(words)}${FLUSH}`, fetched: FLUSH },
  ERR: { refs: V2, fetched: `${packet(`ERR ${words}`)}${FLUSH}` },
});

/** The response of a server to a fetch, with this message in it. */
function hostThatSays(words: string): Host {
  const agreed = `${packet('acknowledgments\n')}${packet('ready\n')}0001`;
  return { refs: V2, fetched: `${agreed}${packet('packfile\n')}${packet(`\x03x\n${words}\n`)}${FLUSH}` };
}

const respond =
  ({ refs, fetched, listed = REFS }: Host): RequestListener =>
  async (request, response) => {
    const type = request.method === 'GET' ? 'advertisement' : 'result';
    response.writeHead(200, { 'content-type': `application/x-git-upload-pack-${type}` });
    const body = (await request.setEncoding('utf8').toArray()).join('');
    if (request.method === 'GET') response.end(refs);
    else response.end(body.includes('command=ls-refs') ? listed : fetched);
  };

/** Line endings for a terminal and JavaScript, but not for git. */
const OTHER_ENDS = ['\r', '\u2028'];

suite('messages of git, forged by a server,', () => {
  const forged = [
    'No space left on device',
    'fatal: write error: No space left on device',
    'Host key verification failed.',
    "fatal: unable to access 'https://git.test/': SSL certificate problem",
    `error: object ${OID}: zeroPaddedFilemode: x\nfatal: fsck error in packed object`,
    "fatal: transport 'x' not allowed",
    'error: 301',
  ];
  for (const words of forged) {
    test(`aren't mistaken for those of git: ${words.slice(0, 60)}`, { ...slow, timeout: 250_000 }, async (t) => {
      const directory = await temporaryDirectory(t, 'forged-');
      const git = new Git(process.env);
      await git.run(['init', '--quiet', '--bare', directory]);
      const hosts = Object.entries(waysOf(`x\n${words}\n`));
      for (const end of OTHER_ENDS) hosts.push([JSON.stringify(end), hostThatSays(`x${end}${words}`)]);
      for (const [way, host] of hosts) {
        const url = `${await startHttpHost(t, respond(host))}/a.git`;
        const args = ['fetch', '--no-tags', '--depth=1'];
        const fetches = [
          transfer(git, ['-c', 'fetch.fsckObjects=true', ...args, '--quiet', url, 'refs/heads/main'], {
            gitDir: directory,
            access: {},
            signal: undefined,
          }),
          git.run([`--git-dir=${directory}`, ...args, url, 'refs/heads/main']),
        ];
        const errors = (await Promise.allSettled(fetches)).map((one) => one.status === 'rejected' && one.reason.name);
        assert.deepEqual(errors, ['TransientError', 'TransientError'], way);
      }
    });
  }

  test("aren't mistaken for those of git behind the truncated part of a long line", async () => {
    const words = "fatal: unable to access 'x': SSL certificate problem";
    const line = `remote: ${'x'.repeat(5_000)}${words.padEnd(16 * 1024 - 1, 'x')}`;
    const script = `!head -c ${line.length} >&2; sleep 0.2; echo >&2; exit 1`;
    const run = new Git(process.env).run(['-c', `alias.say=${script}`, 'say'], { input: line });
    await assert.rejects(run, { name: 'TransientError' });
  });

  for (const words of ['No space left on device', 'bad object HEAD']) {
    test(`don't cost the agent the commits that it keeps for rollbacks: ${words}`, slow, async (t) => {
      const server = await gitServerFor(t);
      const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server });
      const earlier: string[] = [];
      for (let n = 0; n < 2; n += 1) {
        const id = await commit({ files: { a: randomBytes(100).toString('hex') } });
        await sandbox.sync({ repo, commit: id, earlier: [...earlier] });
        earlier.unshift(id);
      }
      server.redirect = respond(hostThatSays(words));
      await assert.rejects(sandbox.sync({ repo, commit: OID, earlier }), { name: 'TransientError' });
      for (const id of earlier) await sandbox.sync({ repo, commit: id, earlier });
    });
  }
});
