import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { nameUser } from '../../../../agent/git/name-user.ts';
import { type SshServer, skipWithoutSshd, startSshServer } from '../../../../scripts/testbed/ssh-server.ts';
import { createSandbox } from '../support/sandbox.ts';

suite('git over ssh', { skip: skipWithoutSshd }, () => {
  let server: SshServer;
  before(async () => {
    server = await startSshServer();
  });
  after(() => server.stop());

  test('works with a key, and with the host key that was named', async (t) => {
    const { url: repo, commit } = await server.createRepository('plain');
    const folder = await createSandbox(t);
    const [sshKeyFile, knownHostsFile] = ['ssh-key', 'known-hosts'].map((name) => path.join(folder.folder, name)) as [
      string,
      string,
    ];
    // As a mounted Secret is: readable for others, and perhaps without the last line feed.
    await writeFile(sshKeyFile, (await readFile(server.keyFile, 'utf8')).trimEnd(), { mode: 0o644 });
    await writeFile(knownHostsFile, server.knownHosts);
    const sandbox = await createSandbox(t, {
      files: { sshKeyFile, knownHostsFile },
    });
    const first = await commit({ files: { a: '1' } });
    await sandbox.sync({ repo, commit: first });
    assert.deepEqual(await sandbox.files(), { a: '1' });
    await writeFile(
      knownHostsFile,
      server.knownHosts.replace(/AAAA\S+/, (key) => `${key.slice(0, -8)}AAAAAAAA`),
    );
    const second = await commit({ files: { a: '2' } });
    await assert.rejects(sandbox.sync({ repo, commit: second }), { code: 'git.hostKey' });
    const trusting = await createSandbox(t, { files: { sshKeyFile } });
    await trusting.sync({ repo, commit: second });
    assert.deepEqual(await trusting.files(), { a: '2' });
  });

  test('with a key that the host does not know is refused in words', async (t) => {
    const { url: repo, commit } = await server.createRepository('refused');
    const sandbox = await createSandbox(t);
    await assert.rejects(sandbox.sync({ repo, commit: await commit({ files: { a: '1' } }) }), {
      name: 'TerminalError',
      code: 'git.authentication',
    });
  });
});

test('ssh works for a user without a name', {
  skip: process.getuid?.() !== 0 && 'another user needs root',
}, async (t) => {
  const uid = 47_123;
  const environment = await nameUser({ uid, gid: uid, hasName: false });
  if (Object.keys(environment).length === 0) return t.skip('needs nss_wrapper, and there is no libnss_wrapper.so');
  const ssh = (env: Record<string, string>) =>
    spawnSync('ssh', ['-F', '/dev/null', '-G', 'host'], { uid, gid: uid, env: { PATH: process.env.PATH, ...env } });
  assert.match(ssh({}).stderr.toString(), /No user exists/);
  assert.equal(ssh(environment).status, 0);
  assert.deepEqual(await nameUser({ uid, gid: uid, hasName: true }), {});
});
