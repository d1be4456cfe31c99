import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { createLfsHost, createLfsRepository, WITHOUT_ATTRIBUTES } from '../../../support/lfs-host.ts';
import { createSandbox } from '../support/sandbox.ts';

test('the CAs of the installation are trusted for Git LFS and for submodules on other servers', async (t) => {
  const server = await startGitServer({ tls: true });
  const other = await startGitServer({ tls: true });
  t.after(() => Promise.all([server.stop(), other.stop()]));
  const lfs = createLfsHost(`${server.url}/x.git/info/lfs/objects`);
  server.lfs = lfs.listener;
  const root = await createLfsRepository(server);
  const lib = await other.createRepository('lib');
  const submodule = await lib.commit({ files: { l: '1' } });
  const gitmodules = `[submodule "lib"]\n\tpath = lib\n\turl = ${lib.url}\n`;
  const files = { '.gitmodules': gitmodules, lib: { submodule }, large: lfs.add('content') };

  const extraCaFile = path.join((await createSandbox(t)).directory, 'ca.crt');
  const certificates = [server.caFile, other.caFile].map((file) => readFile(file ?? '', 'utf8'));
  await writeFile(extraCaFile, (await Promise.all(certificates)).join('\n'));
  const sandbox = await createSandbox(t, { files: { extraCaFile } });
  await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo: root.url, commit: await root.commit({ files }), submodules: true });
  assert.deepEqual(await sandbox.files(), { '.gitmodules': gitmodules, 'lib/l': '1', large: 'content' });
});
