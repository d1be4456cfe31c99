import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { GIT_LIMITS } from '../../../../agent/git/git-limits.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { mapped } from '../support/sandbox.ts';
import { type RawEntry, rawCommits } from './support/write-object.ts';

const MIB = 1024 ** 2;

/** A repository, and an agent whose git has as much memory as in a container of 128 MiB. */
async function arrange(t: TestContext) {
  const git = new Git(process.env, { ...GIT_LIMITS, memoryBytes: 64 * MIB });
  return await gitSandbox(t, 'x', { git });
}

suite('the memory limit of git', { timeout: 250_000 }, () => {
  test('is enough for many similar files', async (t) => {
    const { repo, commit, repository, sandbox } = await arrange(t);
    const text = randomBytes(1_250_000).toString('hex');
    const files = Array.from({ length: 60 }, (_, line) => [`line-${line}/tags.json`, `${text}\n${line}\n`]);
    const id = await commit({ files: Object.fromEntries(files) });
    await repository.git('repack', '-a', '-d', '-q');
    await sandbox.sync({ repo, commit: id });
    assert.equal(Object.keys(await sandbox.files()).length, 60);
  });

  test('applies to listing directories: the error names the limit to raise, and the clone stays', async (t) => {
    const { repo, commit, repository, sandbox } = await arrange(t);
    const first = await commit({ files: { ok: '1' } });
    await sandbox.sync({ repo, commit: first, profile: mapped('ok') });
    const { blobOf, treeOf, commitTree } = rawCommits(repository);
    const file = await blobOf('x');
    const many = Array.from(
      { length: 2_000 },
      (_, n): RawEntry => ['100644', `b${n + 1_000}${'n'.repeat(4_000)}`, file],
    );
    let tree = file;
    // The lower levels come first: git holds 8 MB per level before it prints anything.
    for (let level = 0; level < 10; level += 1)
      tree = await treeOf([level === 0 ? '100644' : '40000', 'a', tree], ...many);
    const large = await commitTree(await treeOf(['40000', 'config', tree], ['100644', 'ok', file]));
    await assert.rejects(sandbox.sync({ repo, commit: large, profile: mapped('config') }), {
      name: 'TransientError',
      code: 'git.answerTooLarge',
      reason: 'GitAnswerTooLarge',
      message: /\b64 MiB\b.* spec\.agent\.resources\.limits\.memory/,
    });
    await sandbox.sync({ repo, commit: large, profile: mapped('ok') });
    assert.deepEqual([await sandbox.files(), sandbox.fetches], [{ ok: 'x' }, 2]);
  });
});
