import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, rename, symlink } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { OwnFile } from '../../../../agent/gateway/own-file.ts';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function arrange(t: TestContext) {
  const directory = await temporaryDirectory(t, 'pending-');
  const data = path.join(directory, 'data');
  const outside = path.join(directory, 'outside');
  await mkdir(data);
  await mkdir(outside);
  const root = await DataRoot.open(data);
  return {
    data,
    outside,
    pending: new OwnFile(
      'reload-pending',
      () => root.openAgentDirectory(''),
      () => {},
    ),
  };
}

suite('the mark of a pending reload', () => {
  test('exists from when it is set until it is cleared', async (t) => {
    const { data, pending } = await arrange(t);
    assert.equal(pending.exists(), false);
    pending.write('', 0o644);
    pending.write('', 0o644);
    assert.equal(pending.exists(), true);
    assert.ok((await lstat(path.join(data, '.sync-agent/reload-pending'))).isFile());
    pending.remove();
    assert.equal(pending.exists(), false);
  });

  test('is cleared even if a directory replaced it, which is put aside', async (t) => {
    const { data, pending } = await arrange(t);
    await mkdir(path.join(data, '.sync-agent/reload-pending/theirs'), { recursive: true });
    assert.equal(pending.exists(), true);
    pending.remove();
    assert.equal(pending.exists(), false);
    const [aside = ''] = await readdir(path.join(data, '.sync-agent'));
    assert.deepEqual(await readdir(path.join(data, '.sync-agent', aside)), ['theirs']);
    pending.write('', 0o644);
    pending.remove();
    assert.equal(pending.exists(), false);
  });

  test('never leaves the volume through a link that replaced its directory', async (t) => {
    const { data, outside, pending } = await arrange(t);
    pending.exists();
    await rename(path.join(data, '.sync-agent'), path.join(data, 'moved'));
    await symlink(outside, path.join(data, '.sync-agent'));
    assert.throws(() => pending.write('', 0o644), { name: 'TerminalError' });
    assert.deepEqual(await readdir(outside), []);
  });
});
