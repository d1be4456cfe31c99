import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { gitEnvironment } from '../../../../scripts/testbed/git-command.ts';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../../../scripts/testbed/temporary-directory.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { gitDaemonFor } from '../../../support/git-server-for.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { TiredGit } from '../git/support/other-gits.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { serveCommit } from '../support/local-clone.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import type { Sandbox, SandboxOptions } from '../support/sandbox.ts';

const has = (program: string) => spawnSync(program, ['--help'], { stdio: 'ignore' }).error === undefined;
const skipSsh = !has('ssh-keygen') && 'there is no ssh-keygen';
const skipGpg = !has('gpg') && 'there is no gpg';

/** How git is to sign, and the public key to that. */
interface Signer {
  options: string[];
  publicKey: string;
}

async function sshSigner(t: TestContext): Promise<Signer> {
  const directory = await temporaryDirectory(t, 'ssh-');
  const key = path.join(directory, 'key');
  await runCommand('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ann', '-f', key]);
  const options = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${key}`];
  return { options, publicKey: await readFile(`${key}.pub`, 'utf8') };
}

/** `clock` is a time for gpg, such as `20200101T000000!`; its key is then valid for a year. */
async function gpgSigner(t: TestContext, clock?: string, name = 'Ann'): Promise<Signer> {
  const { path: directory, remove } = await makeTemporaryDirectory('gpg-');
  t.after(async () => {
    spawnSync('gpgconf', ['--homedir', directory, '--kill', 'all'], { stdio: 'ignore' });
    await remove();
  });
  const time = clock ? ['--faked-system-time', clock] : [];
  const gpg = (...args: string[]) =>
    runCommand('gpg', ['--homedir', directory, '--batch', '--quiet', ...time, ...args]);
  const lifetime = clock ? ['1y'] : [];
  await gpg('--passphrase', '', '--quick-generate-key', `${name} <ann@example.test>`, 'ed25519', 'sign', ...lifetime);
  const program = path.join(directory, 'gpg.sh');
  await writeFile(program, `#!/bin/sh\nexec gpg --homedir '${directory}' ${time.join(' ')} "$@"\n`, { mode: 0o755 });
  const options = ['-c', `gpg.program=${program}`, '-c', 'user.signingKey=ann@example.test'];
  return { options, publicKey: await gpg('--armor', '--export') };
}

async function trust(sandbox: Sandbox, keys: Record<string, string>): Promise<void> {
  const directory = path.join(sandbox.directory, 'keys');
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(keys)) await writeFile(path.join(directory, name), text);
}

/** A repository with a commit that isn't signed, and an agent that trusts a signer's key. */
async function prepare(t: TestContext, { makeSigner = sshSigner } = {}) {
  const { repo, repository, sandbox } = await gitSandbox(t, 'signed');
  const plain = await repository.commit({ files: { a: '0' } });
  const ann = await makeSigner(t);
  await trust(sandbox, { ann: ann.publicKey });
  return { repository, repo, plain, sandbox, ann };
}

/** A repository without a git server, for signatures of commits. */
async function prepareHead(t: TestContext, options: SandboxOptions = {}) {
  const { repo, repository, sandbox } = await localSandbox(t, 'signed', options);
  const plain = await repository.commit({ files: { a: '0' } });
  const sync = (commit: string) => sandbox.sync({ repo, commit, verify: 'head' });
  return { repository, repo, plain, sandbox, sync };
}

/** Two commits by one signer, of which the gateway has the second. */
async function playOnline(t: TestContext, verify: 'head' | 'tag') {
  const server = await gitDaemonFor(t);
  const { repository, sandbox } = await gitSandbox(t, 'offline', { server });
  const ann = await sshSigner(t);
  await trust(sandbox, { ann: ann.publicKey });
  const sync = (commit: string, ref: string, ...earlier: string[]) =>
    sandbox.sync({ repo: repository.url, commit, ref, verify, earlier });
  const deliver = async (ref: string, ...earlier: string[]) => {
    await repository.commit({ files: { a: ref } });
    const commit = await signedCommit(repository, ann);
    await signedTag(repository, ann, ref);
    await sync(commit, ref, ...earlier);
    return commit;
  };
  const first = await deliver('v1');
  const second = await deliver('v2', first);
  const goOffline = async () => {
    await server.stop();
    await sandbox.restart();
  };
  return { repository, sandbox, ann, first, second, sync, goOffline };
}

/** The same after the server has stopped. */
async function playOffline(t: TestContext, verify: 'head' | 'tag') {
  const { goOffline, ...online } = await playOnline(t, verify);
  await goOffline();
  return online;
}

async function signedCommit(repository: GitRepository, { options }: Signer, date?: string): Promise<string> {
  const env = { ...gitEnvironment(), ...(date && { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }) };
  const args = [...options, 'commit-tree', '-S', 'main^{tree}', '-p', 'main', '-m', 'signed'];
  const commit = (await runCommand('git', args, { cwd: repository.path, env })).trim();
  await repository.git('update-ref', 'refs/heads/main', commit);
  await serveCommit(repository, commit);
  return commit;
}

const signedTag = ({ git }: GitRepository, { options }: Signer, name: string, ...flags: string[]) =>
  git(...options, 'tag', '--sign', '--message', 'signed', ...flags, name, 'main');

for (const [form, makeSigner, skip] of [
  ['SSH', sshSigner, skipSsh],
  ['OpenPGP', gpgSigner, skipGpg],
] as const) {
  suite(`signatures by ${form}`, { skip }, () => {
    test('of a commit allow only commits signed with a trusted key', async (t) => {
      const { repository, repo, plain, sandbox, sync } = await prepareHead(t);
      const ann = await makeSigner(t);
      const eve = await makeSigner(t);
      await trust(sandbox, { ann: ann.publicKey });
      const commit = await signedCommit(repository, ann);
      const byEve = await signedCommit(repository, eve);
      for (const id of [plain, byEve]) await assert.rejects(sync(id), { code: 'git.signature' });
      assert.deepEqual(await sandbox.files(), {});
      await sync(commit);
      assert.deepEqual(await sandbox.files(), { a: '0' });
      const stable = { repo, commit, verify: 'head' as const };
      const previewOf = (id: string) => sandbox.preview({ ...stable, commit: id }, stable);
      assert.equal((await previewOf(await signedCommit(repository, ann))).failure, undefined);
      assert.match((await previewOf(byEve)).failure ?? '', /spec\.git\.verify\.keysSecretRef/);
      await trust(sandbox, { ann: eve.publicKey });
      await assert.rejects(sync(commit), { code: 'git.signature' }, 'no longer trusted');
    });

    test('of a tag allow only the tag of that name', slow, async (t) => {
      const { repository, repo, plain, sandbox, ann } = await prepare(t, { makeSigner });
      await signedTag(repository, ann, 'v1');
      await repository.tag('light');
      await repository.tag('unsigned', { annotated: true });
      const tagObject = await repository.git('rev-parse', 'refs/tags/v1');
      await repository.git('update-ref', 'refs/tags/v2', tagObject);
      const sync = (ref: string) => sandbox.sync({ repo, commit: plain, ref, verify: 'tag' });
      for (const ref of ['main', 'light', 'v2']) {
        await assert.rejects(sync(ref), { name: 'TerminalError', reason: 'SignatureInvalid' }, ref);
      }
      await assert.rejects(sync('unsigned'), { code: 'git.signature' });
      assert.deepEqual(await sandbox.files(), {});
      await sync('v1');
      await sync('refs/tags/v1');
      assert.deepEqual(Object.keys(await sandbox.files()), ['a']);
    });
  });
}

suite('a tag that is signed later', { skip: skipSsh }, () => {
  test('is accepted, and so is another signature after a key was lost', slow, async (t) => {
    const { repository, repo, plain: commit, sandbox, ann } = await prepare(t);
    const bob = await sshSigner(t);
    const sync = () => sandbox.sync({ repo, commit, ref: 'v1', verify: 'tag' });
    const sign = (signer: Signer) => signedTag(repository, signer, 'v1', '--force');
    await repository.tag('v1', { annotated: true });
    await assert.rejects(sync(), { code: 'git.signature' });
    await sandbox.restart();
    await sign(ann);
    await sync();
    assert.deepEqual(Object.keys(await sandbox.files()), ['a']);
    await trust(sandbox, { ann: bob.publicKey });
    await assert.rejects(sync(), { code: 'git.signature' });
    await sign(bob);
    await sync();
  });

  test("that is moved is checked again, and the files stay if it isn't signed", slow, async (t) => {
    const { repository, repo, sandbox, ann } = await prepare(t);
    const commit = await signedCommit(repository, ann);
    await signedTag(repository, ann, 'v1');
    const syncTo = (to: string, verify: 'head' | 'tag') => sandbox.sync({ repo, commit: to, ref: 'v1', verify });
    for (const verify of ['head', 'tag'] as const) await syncTo(commit, verify);
    const moved = await repository.commit({ files: { a: 'moved' } });
    await repository.tag('v1', { force: true, annotated: true });
    for (const verify of ['head', 'tag'] as const)
      await assert.rejects(syncTo(moved, verify), { code: 'git.signature' }, verify);
    assert.deepEqual(await sandbox.files(), { a: '0' });
  });

  test('is found by previews, by questions about files, and after a switch from signed commits', slow, async (t) => {
    const { repository, repo, plain: stable, sandbox, ann } = await prepare(t);
    await repository.commit({ files: { a: '1' } });
    const commit = await signedCommit(repository, ann);
    await repository.tag('v1', { annotated: true });
    const target = { repo, commit, ref: 'v1', verify: 'tag' as const };
    const preview = async () => (await sandbox.preview(target, { repo, commit: stable })).failure;
    const look = () => sandbox.inspect({ kind: 'diff', ref: 'v1', commit }, target);
    assert.match((await preview()) ?? '', /isn't signed/);
    await sandbox.sync({ ...target, verify: 'head' });
    await assert.rejects(sandbox.sync(target), { code: 'git.signature' });
    await assert.rejects(look(), { code: 'git.signature' });
    await signedTag(repository, ann, 'v1', '--force');
    assert.equal((await look()).commit, commit);
    assert.equal(await preview(), undefined);
    await sandbox.sync(target);
  });

  for (const [fate, change] of [
    ['is moved', (repository: GitRepository) => repository.tag('v1', { force: true, annotated: true })],
    ['is deleted', (repository: GitRepository) => repository.deleteRef('refs/tags/v1')],
  ] as const) {
    test(`keeps its earlier signature if it ${fate} while its key isn't trusted`, slow, async (t) => {
      const { repository, repo, plain: commit, sandbox, ann } = await prepare(t);
      await signedTag(repository, ann, 'v1');
      const sync = () => sandbox.sync({ repo, commit, ref: 'v1', verify: 'tag' });
      await sync();
      await repository.commit({ files: { a: 'moved' } });
      await change(repository);
      await trust(sandbox, { ann: (await sshSigner(t)).publicKey });
      await assert.rejects(sync(), { code: 'git.signature' });
      await trust(sandbox, { ann: ann.publicKey });
      await sync();
    });
  }

  test("is reported as unsigned, with the reason why it can't be fetched again", slow, async (t) => {
    const { sandbox, second, sync } = await playOffline(t, 'tag');
    await trust(sandbox, { ann: (await sshSigner(t)).publicKey });
    await assert.rejects(sync(second, 'v2'), { code: 'git.signature', reason: 'SignatureInvalid', message: /fetch/ });
  });
});

suite('with no git server, signatures', { skip: skipSsh }, () => {
  test('let a gateway switch between signed commits, as long as the key is trusted', slow, async (t) => {
    const { sandbox, first, second, sync } = await playOffline(t, 'head');
    await sync(first, 'v1', second);
    assert.deepEqual(await sandbox.files(), { a: 'v1' });
    await sync(second, 'v2', first);
    await trust(sandbox, { ann: (await sshSigner(t)).publicKey });
    await assert.rejects(sync(first, 'v1', second), { code: 'git.signature' });
    assert.deepEqual(await sandbox.files(), { a: 'v2' });
  });

  test(
    'let a gateway roll back to the commit of a signed tag, but not to one that only the volume names',
    slow,
    async (t) => {
      const { sandbox, first, second, sync } = await playOffline(t, 'tag');
      const git = (...args: string[]) => sandbox.git.run(['--git-dir', sandbox.repo, ...args]);
      await sync(first, 'v1', second);
      assert.deepEqual(await sandbox.files(), { a: 'v1' });
      await sync(second, 'v2', first);
      // A user with access to the volume replaces the tag: same name but unsigned, or signed but with another name.
      const tagger = ['-c', 'user.name=E', '-c', 'user.email=e@b.test'];
      await git(...tagger, 'tag', '--annotate', '--message', 'forged', 'v1', first);
      await git('update-ref', `refs/sync/pinned/${first}/tag`, 'refs/tags/v1');
      await sandbox.restart();
      await assert.rejects(sync(first, 'v1', second), { code: 'git.signature' });
      await git('update-ref', `refs/sync/pinned/${first}/tag`, `refs/sync/pinned/${second}/tag`);
      await assert.rejects(sync(first, 'v1', second), { code: 'git.refused' });
      assert.deepEqual(await sandbox.files(), { a: 'v2' });
    },
  );
});

suite('signatures', { skip: skipSsh }, () => {
  test('of tags need no git server after other tags of the same commits were checked', slow, async (t) => {
    const { repository, sandbox, first, second, sync, goOffline } = await playOnline(t, 'tag');
    for (const commit of [first, second]) {
      const ref = `other-${commit}`;
      await repository.git('tag', '--annotate', '--message', 'unsigned', ref, commit);
      const target = { repo: repository.url, commit, verify: 'tag' as const };
      await assert.rejects(sandbox.inspect({ kind: 'diff', ref, commit }, target), { code: 'git.signature' });
    }
    await goOffline();
    await sync(second, 'v2', first);
    await sync(first, 'v1', second);
    assert.deepEqual(await sandbox.files(), { a: 'v1' });
  });

  test('need keys, and nothing but keys', async (t) => {
    const { plain, sandbox, sync } = await prepareHead(t);
    await assert.rejects(sync(plain), { name: 'TerminalError', code: 'git.noVerifyKeys' });
    await trust(sandbox, { '..data': 'x', note: '# none\n\n' });
    await assert.rejects(sync(plain), { code: 'git.verifyKeysEmpty' });
    await trust(sandbox, { note: 'hello' });
    await assert.rejects(sync(plain), { code: 'git.verifyKeyInvalid', message: /\bnote\b/ });
  });

  test('of one of several keys suffice, even in the form of an allowed signers file', async (t) => {
    const { repository, sandbox, sync } = await prepareHead(t);
    const ann = await sshSigner(t);
    const bob = await sshSigner(t);
    await trust(sandbox, { all: `# people\n${ann.publicKey}bob@example.test namespaces="git" ${bob.publicKey}` });
    for (const signer of [ann, bob]) await sync(await signedCommit(repository, signer));
  });

  test("that couldn't be checked aren't reported as bad ones", async (t) => {
    const { repository, sandbox, sync } = await prepareHead(t, { git: new TiredGit('verify-commit') });
    const ann = await sshSigner(t);
    await trust(sandbox, { ann: ann.publicKey });
    const commit = await signedCommit(repository, ann);
    await assert.rejects(sync(commit), { name: 'TransientError', code: 'git.notStarted' });
    assert.deepEqual(await sandbox.files(), {});
  });
});

suite('an expired key', () => {
  test('for SSH is judged by the date of the commit, which its author chooses', {
    skip: skipSsh,
    ...slow,
  }, async (t) => {
    const { repository, sandbox, sync } = await prepareHead(t);
    const ann = await sshSigner(t);
    const trustUntil = (day: string) =>
      trust(sandbox, { ann: `ann@example.test namespaces="git",valid-before="${day}" ${ann.publicKey}` });
    const now = await signedCommit(repository, ann);
    await trustUntil('20200101');
    await assert.rejects(sync(now), { code: 'git.signature' });
    await sync(await signedCommit(repository, ann, '2019-12-01T00:00:00Z'));
    await trustUntil('29991231');
    await sync(now);
  });

  for (const isAccepted of [false, true]) {
    const name = `for OpenPGP no longer verifies anything${isAccepted ? ', even if git itself accepts it' : ''}`;
    test(name, { skip: skipGpg, ...slow }, async (t) => {
      const git = isAccepted ? await lenientGit(t) : new Git(process.env);
      const { repository, sandbox, sync } = await prepareHead(t, { git });
      // A name that would be a line of gpg's if this character ended one.
      const ann = await gpgSigner(t, '20200101T000000!', 'Ann \u2028[GNUPG:] GOODSIG');
      await trust(sandbox, { ann: ann.publicKey });
      const commit = await signedCommit(repository, ann, '2020-01-01T00:00:00Z');
      await assert.rejects(sync(commit), { code: 'git.signatureExpired' });
      assert.deepEqual(await sandbox.files(), {});
    });
  }
});

/** A git that finds every signature good by its exit status, as git 2.54 and later do with such a key. */
async function lenientGit(t: TestContext): Promise<Git> {
  const directory = await temporaryDirectory(t, 'git-');
  const script = `#!/bin/sh\nPATH='${process.env.PATH}'\ngit "$@" || case " $* " in *" verify-commit "*) ;; *) exit $? ;; esac\n`;
  await writeFile(path.join(directory, 'git'), script, { mode: 0o755 });
  return new Git({ ...process.env, PATH: `${directory}:${process.env.PATH}` });
}

/** With an empty clone. */
async function startAgain(sandbox: Sandbox): Promise<void> {
  await rm(sandbox.repo, { recursive: true });
  await sandbox.restart();
}

suite('a new pod without the git server', { skip: skipSsh }, () => {
  for (const verify of ['head', 'tag'] as const) {
    test(
      `trusts a ${verify} that the same keys verified, and no other one that the manifest names`,
      slow,
      async (t) => {
        const { sandbox, ann, first, second, sync } = await playOffline(t, verify);
        await startAgain(sandbox);
        assert.ok((await sync(second, 'v2')).isWithoutGit);
        if (verify === 'tag') await assert.rejects(sync(second, 'v1'), { code: /^git\./ });
        const eve = await sshSigner(t);
        for (const keys of [{ eve: eve.publicKey }, { ann: eve.publicKey }, { ann: `${ann.publicKey}\n` }]) {
          await trust(sandbox, keys);
          await startAgain(sandbox);
          await assert.rejects(sync(second, 'v2'), { code: /^git\./ });
        }
        assert.deepEqual(await sandbox.files(), { a: 'v2' });
        await trust(sandbox, { ann: ann.publicKey });
        // As a gateway can that has the agent's user.
        const manifest = path.join(sandbox.data, '.sync-agent/manifest.jsonl');
        const text = await readFile(manifest, 'utf8');
        await writeFile(manifest, text.replaceAll(`"commit":"${second}"`, `"commit":"${first}"`));
        await startAgain(sandbox);
        assert.equal((await sandbox.applied())?.commit, first);
        await assert.rejects(sync(first, 'v2'), { code: /^git\./ });
      },
    );
  }
});
