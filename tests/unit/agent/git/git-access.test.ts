import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { withGitAccess } from '../../../../agent/git/git-access.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';

const none = { tokenFile: undefined, sshKeyFile: undefined, knownHostsFile: undefined, caFile: undefined };

suite('withGitAccess', () => {
  test('gives a token to the origin of an https repository, and to no other transport', async (t) => {
    const { path: folder, remove } = await makeTemporaryFolder('access-');
    t.after(remove);
    const tokenFile = path.join(folder, 'token');
    await writeFile(tokenFile, 'secret\n');
    const files = { ...none, tokenFile, sshKeyCopy: path.join(folder, 'copy') };
    const authorizationFor = (repo: string) =>
      withGitAccess({ repo, ignoresHostKey: true }, files, async (access) => access.authorization);
    assert.deepEqual(await authorizationFor('https://git.test:8443/org/x'), {
      origin: 'https://git.test:8443',
      value: `Basic ${Buffer.from('x-access-token:secret').toString('base64')}`,
    });
    for (const repo of ['http://git.test/x', 'git://git.test/x', 'git@git.test:x']) {
      assert.equal(await authorizationFor(repo), undefined);
    }
  });

  test('copies an SSH key so that ssh takes it, for the time of the call alone', async (t) => {
    const { path: folder, remove } = await makeTemporaryFolder('access-');
    t.after(remove);
    const [sshKeyFile, sshKeyCopy] = [path.join(folder, 'mounted'), path.join(folder, 'copy')];
    await writeFile(sshKeyFile, 'KEY', { mode: 0o644 });
    await writeFile(sshKeyCopy, 'of a killed agent', { mode: 0o644 });
    await withGitAccess(
      { repo: 'git@git.test:x', ignoresHostKey: true },
      { ...none, sshKeyFile, sshKeyCopy },
      async (access) => {
        assert.equal(access.sshKeyFile, sshKeyCopy);
        assert.equal(await readFile(sshKeyCopy, 'utf8'), 'KEY\n');
        assert.equal((await stat(sshKeyCopy)).mode & 0o777, 0o600);
      },
    );
    await assert.rejects(stat(sshKeyCopy), { code: 'ENOENT' });
  });

  test('refuses ssh without known_hosts, unless the resource asks for that, and copies no key then', async (t) => {
    const { path: folder, remove } = await makeTemporaryFolder('access-');
    t.after(remove);
    const [sshKeyFile, sshKeyCopy] = [path.join(folder, 'mounted'), path.join(folder, 'copy')];
    await writeFile(sshKeyFile, 'KEY');
    const files = { ...none, sshKeyFile, sshKeyCopy };
    const accessTo = (repo: string, ignoresHostKey: boolean, knownHostsFile?: string) =>
      withGitAccess({ repo, ignoresHostKey }, { ...files, knownHostsFile }, async (access) => access);
    for (const repo of ['git@git.test:x', 'ssh://git.test/x']) {
      await assert.rejects(accessTo(repo, false), {
        name: 'TerminalError',
        reason: 'KnownHostsMissing',
        message: /spec\.git\.auth\.sshKey\.knownHosts/,
      });
      assert.equal((await accessTo(repo, true)).ignoresHostKey, true);
      const { knownHostsFile, ignoresHostKey } = await accessTo(repo, false, '/known');
      assert.deepEqual([knownHostsFile, ignoresHostKey], ['/known', false]);
    }
    assert.equal((await accessTo('https://git.test/x', false)).ignoresHostKey, false);
  });
});
