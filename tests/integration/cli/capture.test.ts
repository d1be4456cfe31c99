import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { INSPECTION } from '../../../shared/api/inspection.ts';
import { slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { annotationOf, arrange, type World } from './inspected-gateway.ts';

const server = await shareGitServer();

async function cloneOf(t: TestContext, { repository, stoker }: World) {
  const directory = path.join(await temporaryDirectory(t, 'clone-'), 'clone');
  await runCommand('git', ['clone', '--quiet', repository.path, directory]);
  const git = (...args: string[]) => runCommand('git', ['-C', directory, ...args]);
  await git('config', 'user.name', 'Ann');
  await git('config', 'user.email', 'ann@example.com');
  const capture = (...args: string[]) =>
    stoker('capture', 'gw', '--gateway', 'gateway-0', '--directory', directory, ...args);
  return { directory, git, capture };
}

suite('kubectl stoker capture', () => {
  test('commits the edits of a gateway on a new branch, and names what it refuses', async (t) => {
    const world = await arrange(t, server, 'capture');
    const { write, pod } = world;
    const { directory, git, capture } = await cloneOf(t, world);
    const nothing = await capture();
    assert.deepEqual([nothing.status, nothing.output], [0, '']);

    const bytes = randomBytes(INSPECTION.chunkBytes + 1);
    await write('etc/a.txt', 'one\nTWO\nthree\n');
    await write('etc/picture.bin', bytes);
    await write('etc/new.txt', 'new\n');
    await write('etc/server.key', 'a-secret');
    await write('rendered/name.txt', 'edited\n');
    await rm(path.join(pod.data, 'etc/gone.txt'));
    const options = ['--new', '--branch', 'capture/gateway-0', '--commit', '--output', 'json'];
    const { status, output, notes } = await capture(...options);
    assert.equal(status, 1, notes);
    const view = JSON.parse(output);
    assert.deepEqual(view.refused.map(({ path, code }: { path: string; code: string }) => [path, code]).sort(), [
      ['etc/gone.txt', 'deleted'],
      ['etc/server.key', 'secret'],
      ['rendered/name.txt', 'template'],
    ]);
    assert.ok(view.isCommitted);
    const committed = ['config/a.txt', 'config/new.txt', 'config/picture.bin'];
    assert.equal(await git('show', '--name-only', '--format=', 'HEAD'), `${committed.join('\n')}\n`);
    assert.equal(await git('status', '--porcelain', '--branch'), '## capture/gateway-0\n');
    assert.deepEqual(await readFile(path.join(directory, 'config/picture.bin')), bytes);
    assert.doesNotMatch(output, /a-secret/);
    assert.equal(await annotationOf(pod), undefined);

    const again = await capture('--new', '--path', 'etc/*.txt', '--path', 'etc/picture.bin');
    assert.deepEqual([again.status, again.output], [1, ''], again.notes);
  });

  test('needs a clone of the commit, a gateway, and a branch for a commit', slow, async (t) => {
    const world = await arrange(t, server, 'capture-refused');
    const { directory, git, capture } = await cloneOf(t, world);
    await world.write('etc/a.txt', 'edited\n');
    const other = path.join(path.dirname(directory), 'other');
    await runCommand('git', ['init', '--quiet', other]);
    await runCommand('git', [
      '-C',
      other,
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@b',
      'commit',
      '-qm',
      'x',
      '--allow-empty',
    ]);
    const unrelated = await world.stoker('capture', 'gw', '--gateway', 'gateway-0', '--directory', other);
    assert.deepEqual([unrelated.status, unrelated.output], [1, '']);
    assert.equal((await capture('--commit')).status, 64);
    assert.equal((await capture('--branch', 'main')).status, 1, 'the branch exists');
    assert.equal((await capture('--ignore-keys', 'a.b')).status, 64);
    assert.equal(await git('status', '--porcelain', '--branch'), '## main...origin/main\n');
    assert.equal((await world.stoker('capture', 'gw', '--directory', directory)).status, 64);
    const missing = await world.stoker('capture', 'gw', '--gateway', 'none', '--directory', directory);
    assert.equal(missing.status, 1);
  });
});
