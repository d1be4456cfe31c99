import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { readSshKey } from '../../../../shared/io/git/read-ssh-key.ts';
import { rejected, unreadableKey } from '../../../../shared/io/git/refusals.ts';
import { assertLinear } from '../../../support/assert-linear.ts';
import { slow } from '../../../support/depth.ts';
import { type SshServer, skipWithoutSshd, startSshServer } from '../../../support/ssh-server.ts';
import { deliver, failuresOf, queryMain } from '../support/both-programs.ts';
import { createSandbox } from '../support/sandbox.ts';

/** A key that ssh-keygen writes with these options, both halves. */
async function makeKey(t: TestContext, ...options: string[]): Promise<{ key: string; publicHalf: string }> {
  const file = path.join((await createSandbox(t)).directory, 'key');
  await runCommand('ssh-keygen', ['-q', '-f', file, ...options]);
  return { key: await readFile(file, 'utf8'), publicHalf: await readFile(`${file}.pub`, 'utf8') };
}

/** A key on a security key, by PROTOCOL.u2f of OpenSSH: only its description is in the file. */
function securityKey(): string {
  const string = (text: string | Buffer) => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const half = string(Buffer.concat([string('sk-ssh-ed25519@openssh.com'), string(Buffer.alloc(32)), string('ssh:')]));
  const parts = ['openssh-key-v1\0', string('none'), string('none'), string(''), Buffer.from([0, 0, 0, 1]), half];
  const body = Buffer.concat([...parts.map((part) => Buffer.from(part)), string(Buffer.alloc(64))]).toString('base64');
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${body.match(/.{1,70}/g)?.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

suite('an SSH key', { skip: skipWithoutSshd }, () => {
  let server: SshServer;
  before(async () => {
    server = await startSshServer();
  });
  after(() => server.stop());

  for (const [name, change] of [
    ['with line ends of old Macs', (key: string) => key.replaceAll('\n', '\r')],
    ['with empty lines and blanks around it', (key: string) => `\n  ${key}\n\n \n`],
    ['with a byte order mark', (key: string) => `\uFEFF${key}`],
    ['with indented lines', (key: string) => key.replace(/^/gm, '    ')],
    ['with blanks for line feeds', (key: string) => key.replaceAll('\n', ' ')],
    ['with escapes for line feeds', (key: string) => key.replaceAll('\n', '\\n')],
    ['with words in front', (key: string) => `my key:\n${key}`],
  ] as const)
    test(`is read ${name}`, async () => {
      const key = await readFile(server.keyFile, 'utf8');
      assert.equal(readSshKey(change(key)), key);
    });

  test('is accepted with Windows line endings and without a final one, by controller and agent', slow, async (t) => {
    const { url: repo, commit } = await server.createRepository('pasted');
    const tip = await commit({ files: { a: '1' } });
    const key = (await readFile(server.keyFile, 'utf8')).trimEnd().replaceAll('\n', '\r\n');
    const secret = { key, knownHosts: server.knownHosts };
    assert.equal(await queryMain(t, repo, secret), tip);
    assert.deepEqual(await deliver(t, { repo, commit: tip }, secret), { a: '1' });
  });

  test("is reported as unusable by controller and agent if ssh can't use it", slow, async (t) => {
    const { url } = await server.createRepository('unused');
    const { key, publicHalf } = await makeKey(t, '-t', 'ed25519', '-N', '');
    const cases: [secret: string, problem: RegExp][] = [
      [(await makeKey(t, '-t', 'ed25519', '-N', 'open sesame')).key, /passphrase/],
      [(await makeKey(t, '-t', 'ecdsa', '-m', 'PKCS8', '-N', 'open sesame')).key, /passphrase/],
      [publicHalf, /public key/],
      [
        generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }) as string,
        /public key/,
      ],
      [securityKey(), /security key/],
      [key.replace(/(?<=-----\n)[\s\S]{20}/, ''), /damaged/],
      [Buffer.from(key).toString('base64'), /base64/],
      ['PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n', /PuTTY/],
      ['glpat-secret', /OpenSSH/],
      ['', /is empty/],
    ];
    for (const [secret, problem] of cases) {
      for (const error of await failuresOf(t, url, { key: secret, knownHosts: server.knownHosts })) {
        assert.match(error.message, problem);
        assert.doesNotMatch(error.message, /refused|glpat/);
        assert.equal(error.code, 'git.sshKey');
      }
    }
  });

  test("isn't reported as refused by the server if only ssh rejects it", slow, async (t) => {
    const { url } = await server.createRepository('odd');
    const odd = '-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n';
    const { key } = await makeKey(t, '-t', 'ed25519', '-N', '');
    for (const error of await failuresOf(t, url, { key: odd, knownHosts: server.knownHosts }))
      assert.ok(error.message.startsWith(unreadableKey));
    for (const error of await failuresOf(t, url, { key, knownHosts: server.knownHosts }))
      assert.ok(error.message.startsWith(rejected('sshKey', undefined)));
  });
});

for (const words of ['-----BEGIN PRIVATE KEY-----', '-----BEGIN A ', 'a ', '\\n'])
  test(`a key is parsed in time proportional to its length: ${words}…`, () => {
    const read = (text: string) => {
      assert.throws(() => readSshKey(text));
    };
    assertLinear(20_000, (size) => words.repeat(size / words.length), read);
  });
