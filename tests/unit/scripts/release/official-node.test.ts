import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { access, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import manifest from '../../../../package.json' with { type: 'json' };
import { fetchNode, NODE_VERSION, officialNode } from '../../../../scripts/release/official-node.ts';
import { GIVEN_FILES } from '../../../../scripts/release/release-files.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Makes an archive with the layout of Node's. */
async function makeArchive(directory: string): Promise<Buffer> {
  const root = path.join(directory, 'node-v1.2.3-linux-x64');
  await mkdir(path.join(root, 'include/node'), { recursive: true });
  await mkdir(path.join(root, 'bin'));
  await writeFile(path.join(root, 'include/node/node.h'), '');
  await writeFile(path.join(root, 'bin/node'), '#!/bin/sh\necho official\n');
  await chmod(path.join(root, 'bin/node'), 0o755);
  await runCommand('tar', ['-czf', 'node.tar.gz', path.basename(root)], { cwd: directory });
  return await readFile(path.join(directory, 'node.tar.gz'));
}

suite('the Node in the executables of a release', () => {
  test('has a recorded hash for each platform, and the version of the tests', () => {
    const { optionalDependencies } = manifest;
    for (const [name, version] of Object.entries(optionalDependencies))
      if (/^node-/.test(name)) assert.equal(version, NODE_VERSION, name);
    const platforms = GIVEN_FILES.flatMap((file) => /^kubectl-stoker-(\w+-\w+)\.tar\.gz$/.exec(file)?.[1] ?? []);
    assert.equal(platforms.length, 4);
    const archives = platforms.map(officialNode);
    for (const { hash } of archives) assert.match(hash, /^[0-9a-f]{64}$/);
    assert.equal(new Set(archives.map(({ hash }) => hash)).size, platforms.length);
    assert.throws(() => officialNode('sunos-x64'), /sunos-x64/);
  });

  test('is the program of an archive with this hash, and of no other', async (t) => {
    const directory = await temporaryDirectory(t, 'node-');
    const archive = await makeArchive(directory);
    const url = `${await startHttpHost(t, (_, response) => response.end(archive))}/node.tar.gz`;
    const hash = createHash('sha256').update(archive).digest('hex');

    const other = path.join(directory, 'other');
    await assert.rejects(fetchNode(other, { url, hash: '0'.repeat(64) }), (error: Error) =>
      error.message.includes(hash),
    );
    await assert.rejects(access(path.join(other, 'official/node')), { code: 'ENOENT' });
    const node = await fetchNode(path.join(directory, 'dist'), { url, hash });
    assert.equal(await runCommand(node, []), 'official\n');
  });
});
