import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { git } from '../../../../scripts/testbed/git-command.ts';
import { slow } from '../../../support/depth.ts';
import { gitDaemonFor } from '../../../support/git-server-for.ts';
import { clientFor } from './query-world.ts';

test('a server has a commit of a repository with SHA-256 IDs, and none with an ID of the other kind', async (t) => {
  const daemon = await gitDaemonFor(t);
  const { url, path, git: run, commit } = await daemon.createRepository('x');
  await rm(path, { recursive: true });
  await git('/', ['init', '--quiet', '--bare', '--object-format=sha256', '--initial-branch=main', path]);
  await run('config', 'uploadpack.allowReachableSHA1InWant', 'true');
  const first = await commit({ files: { a: '1' } });
  await commit({ files: { a: '2' } });
  const refs = await clientFor(t, url).query({ prefixes: [], commit: first });
  assert.deepEqual([...refs.keys()], [first]);
  const other = await clientFor(t, url).query({ prefixes: [], commit: 'a'.repeat(40) });
  assert.deepEqual([...other.keys()], []);
});

test(
  'a repository with too many refs for git:// is reported together with the way that allows more',
  slow,
  async (t) => {
    const daemon = await gitDaemonFor(t);
    const { url, path, commit } = await daemon.createRepository('x');
    const first = await commit({ files: { a: '1' } });
    const lines = Array.from({ length: 30_000 }, (_, n) => `${first} refs/tags/v${10_000 + n}-${'x'.repeat(150)}\n`);
    await writeFile(`${path}/packed-refs`, `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`);
    await assert.rejects(clientFor(t, url).query({ prefixes: [], ranges: ['*'] }), {
      reason: 'GitAnswerTooLarge',
      message: / https .* spec\.git\.repo/,
    });
  },
);
