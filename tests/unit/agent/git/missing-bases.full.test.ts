import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { answerFetches, fetchAnswer, withoutBase } from '../../../support/fetch-answers.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox, mapped } from '../support/sandbox.ts';
import { rawCommits } from './support/write-object.ts';

/** A host that sends no object as a whole. */
async function startHost(t: TestContext) {
  const host = { url: '', fetches: 0 };
  host.url = await startHttpHost(
    t,
    answerFetches(() => {
      host.fetches += 1;
      return fetchAnswer([withoutBase()]);
    }),
  );
  return host;
}

suite('a delta against a missing object', () => {
  const commit = '1'.repeat(40);

  test("doesn't start a fetch within the fetch", { timeout: 60_000 }, async (t) => {
    const host = await startHost(t);
    const sandbox = await createSandbox(t);
    // So the first fetch leaves files out.
    const target = { repo: `${host.url}/x.git`, commit, profile: mapped('config') };
    await assert.rejects(sandbox.sync(target), { name: 'TransientError' });
    assert.ok(host.fetches <= 4, `${host.fetches} fetches`);
  });

  test("doesn't start a fetch within the fetch of a submodule", { timeout: 60_000 }, async (t) => {
    const host = await startHost(t);
    const root = await (await gitServerFor(t)).createRepository('x');
    const modules = `[submodule "lib"]\n\tpath = lib\n\turl = ${host.url}/lib.git\n`;
    const files = { '.gitmodules': modules, lib: { submodule: commit } };
    const sandbox = await createSandbox(t);
    const target = { repo: root.url, commit: await root.commit({ files }), submodules: true };
    await assert.rejects(sandbox.sync(target), { message: /^submodule lib: / });
    assert.equal(host.fetches, 1);
  });

  for (const [what, source] of [
    ['other files are wanted', 'config'],
    ['all are wanted', '.'],
  ] as const) {
    test(`is accepted if its base is a file that the server omitted, and ${what}`, async (t) => {
      const server = await gitServerFor(t);
      const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server });
      const lines = Array.from({ length: 1_000 }, () => randomBytes(60).toString('base64'));
      const first = await commit({ files: { 'config/a': '1', 'media/film': lines.join('\n') } });
      await sandbox.sync({ repo, commit: first, profile: mapped('config') });
      // Small enough to come along, and most of it is in the earlier one.
      const film = lines.slice(0, 500).join('\n');
      const second = await commit({ files: { 'config/a': '2', 'media/film': film } });
      await sandbox.sync({ repo, commit: second, profile: mapped(source) });
      const rest = source === '.' ? { 'media/film': film } : {};
      assert.deepEqual(await sandbox.files(), { 'config/a': '2', ...rest });
      await sandbox.sync({ repo, commit: second, profile: mapped('.') });
      assert.deepEqual(await sandbox.files(), { 'config/a': '2', 'media/film': film });
    });
  }

  test('is accepted next to a directory that is a delta as well and has harmless mistakes', async (t) => {
    const server = await gitServerFor(t);
    const repository = await server.createRepository('x');
    const { blobOf, treeOf, commitTree } = rawCommits(repository);
    const repo = repository.url;
    const lines = Array.from({ length: 1_000 }, () => randomBytes(60).toString('base64'));
    const file = await blobOf('1');
    const directory = await treeOf(['100644', 'a', file]);
    // Enough content that only the new part is sent.
    const others = Array.from({ length: 200 }, (_, n) => ['100644', `d${1_000 + n}`, file] as const);
    const commitWith = async (mode: string, film: string[]) => {
      const media = await blobOf(film.join('\n'));
      return await commitTree(await treeOf([mode, 'config', directory], ...others, ['100644', 'film', media]));
    };
    const sandbox = await createSandbox(t);
    const first = await commitWith('40000', lines);
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    const second = await commitWith('040000', lines.slice(0, 500));
    await sandbox.sync({ repo, commit: second, profile: mapped('config') });
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
  });
});
