import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { answerFetches, fetchAnswer, withoutBase } from '../../../support/fetch-answers.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';
import { commitText, objectWriter, treeEntry } from './support/write-object.ts';

const mapped = (source: string) => ({
  mappings: [{ source, destination: source, required: true, template: false }],
});

/** A host that sends no object as a whole. */
async function startHost(t: TestContext) {
  const host = { url: '', fetches: 0 };
  const server = createServer(
    answerFetches(() => {
      host.fetches += 1;
      return fetchAnswer([withoutBase()]);
    }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  host.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return host;
}

async function startServer(t: TestContext) {
  const server = await gitServerFor(t);
  return server;
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
    const root = await (await startServer(t)).createRepository('x');
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
      const server = await startServer(t);
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
    const server = await startServer(t);
    const { url: repo, path, git } = await server.createRepository('x');
    const write = objectWriter(path);
    const lines = Array.from({ length: 1_000 }, () => randomBytes(60).toString('base64'));
    const commitWith = async (mode: string, content: string, film: string[]) => {
      const file = await write('blob', Buffer.from(content));
      const directory = await write('tree', treeEntry('100644', 'a', file));
      // Enough content that only the new part is sent.
      const others = Array.from({ length: 200 }, (_, index) => treeEntry('100644', `d${1_000 + index}`, file));
      const media = await write('blob', Buffer.from(film.join('\n')));
      const entries = [treeEntry(mode, 'config', directory), ...others, treeEntry('100644', 'film', media)];
      const commit = await write('commit', commitText(await write('tree', Buffer.concat(entries))));
      await git('update-ref', 'refs/heads/main', commit);
      return commit;
    };
    const sandbox = await createSandbox(t);
    const first = await commitWith('40000', '1', lines);
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    const second = await commitWith('040000', '1', lines.slice(0, 500));
    await sandbox.sync({ repo, commit: second, profile: mapped('config') });
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
  });
});
