import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { nameUser } from '../../../../agent/git/name-user.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import type { GitAccess } from '../../../../shared/io/git/git-environment.ts';
import { slow } from '../../../support/depth.ts';
import { type SshServer, skipWithoutSshd, startSshServer } from '../../../support/ssh-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { createSandbox } from '../support/sandbox.ts';

suite('git over ssh', { skip: skipWithoutSshd }, () => {
  let server: SshServer;
  before(async () => {
    server = await startSshServer();
  });
  after(() => server.stop());

  test('works with a key and the configured host key', slow, async (t) => {
    const { url: repo, commit } = await server.createRepository('plain');
    const directory = await temporaryDirectory(t, 'ssh-');
    const sshKeyFile = path.join(directory, 'ssh-key');
    const knownHostsFile = path.join(directory, 'known-hosts');
    // As a mounted Secret is: readable for others, and perhaps without the last line feed.
    await writeFile(sshKeyFile, (await readFile(server.keyFile, 'utf8')).trimEnd(), { mode: 0o644 });
    await writeFile(knownHostsFile, server.knownHosts);
    const sandbox = await createSandbox(t, { files: { sshKeyFile, knownHostsFile } });
    const first = await commit({ files: { a: '1' } });
    await sandbox.sync({ repo, commit: first });
    assert.deepEqual(await sandbox.files(), { a: '1' });
    await writeFile(knownHostsFile, server.knownHosts.replace(/(AAAA\S+)\S{8}/, '$1AAAAAAAA'));
    const second = await commit({ files: { a: '2' } });
    await assert.rejects(sandbox.sync({ repo, commit: second }), { code: 'git.hostKey' });
    // Any host key is trusted only if the resource allows it, regardless of known_hosts.
    await sandbox.sync({ repo, commit: second, ignoresHostKey: true });
    assert.deepEqual(await sandbox.files(), { a: '2' });
  });

  test('fails in git itself if no trusted host is configured', slow, async () => {
    const { url } = await server.createRepository('strict');
    const ask = (access: GitAccess) => new Git(process.env).run(['ls-remote', url], { access });
    const access = { sshKeyFile: server.keyFile };
    await assert.rejects(ask(access), { code: 'git.hostKey' });
    assert.ok(await ask({ ...access, ignoresHostKey: true }));
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
