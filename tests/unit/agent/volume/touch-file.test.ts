import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstat, mkdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { touchFile } from '../../../../agent/volume/touch-file.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';

const marker = (digit: string) => `${digit.repeat(40)} 2026-01-0${digit}T00:00:00.000Z\n`;

async function makeRoot(t: TestContext) {
  const { path: folder, remove } = await makeTemporaryFolder('touch-');
  t.after(remove);
  const data = path.join(folder, 'data');
  await mkdir(data);
  return { folder, root: await DataRoot.open(data), at: (name: string) => path.join(data, name) };
}

suite('touchFile', () => {
  test('makes a file that holds the text, and writes the next one over it', async (t) => {
    const { root, at } = await makeRoot(t);
    await mkdir(at('config'));
    await touchFile(root, 'config/synced', marker('1'));
    assert.equal(await readFile(at('config/synced'), 'utf8'), marker('1'));
    await utimes(at('config/synced'), 0, 0);
    await touchFile(root, 'config/synced', marker('2'));
    assert.equal(await readFile(at('config/synced'), 'utf8'), marker('2'));
    assert.ok((await stat(at('config/synced'))).mtimeMs > 0);
  });

  for (const content of ['<config/>', '']) {
    test(`keeps what a file of somebody else holds ('${content}'), and touches it`, async (t) => {
      const { root, at } = await makeRoot(t);
      await writeFile(at('gateway.xml'), content);
      await utimes(at('gateway.xml'), 0, 0);
      await touchFile(root, 'gateway.xml', marker('1'));
      assert.equal(await readFile(at('gateway.xml'), 'utf8'), content);
      assert.ok((await stat(at('gateway.xml'))).mtimeMs > 0);
    });
  }

  test('follows no link, be it the file or a folder', async (t) => {
    const { folder, root, at } = await makeRoot(t);
    await mkdir(path.join(folder, 'outside'));
    await symlink(path.join(folder, 'outside'), at('folder'));
    await symlink(path.join(folder, 'outside/new'), at('file'));
    await assert.rejects(touchFile(root, 'folder/x', marker('1')), { code: 'data.symbolicLink' });
    await assert.rejects(touchFile(root, 'file', marker('1')), { code: 'gateway.touchFile' });
    await assert.rejects(lstat(path.join(folder, 'outside/new')), { code: 'ENOENT' });
    await assert.rejects(lstat(path.join(folder, 'outside/x')), { code: 'ENOENT' });
  });

  test('does not wait at a pipe', { timeout: 60_000 }, async (t) => {
    const { root, at } = await makeRoot(t);
    await promisify(execFile)('mkfifo', [at('pipe')]);
    await assert.rejects(touchFile(root, 'pipe', marker('1')), { code: 'gateway.touchFile' });
  });

  for (const [name, words] of [
    ['missing/x', /there is no folder missing/],
    ['', /no path of a file/],
    ['.sync-agent/manifest.jsonl', /no path of a file/],
    ['.', /no path of a file/],
    ['n'.repeat(256), /no path of a file/],
  ] as const) {
    test(`refuses ${JSON.stringify(name)}`, async (t) => {
      const { root } = await makeRoot(t);
      await assert.rejects(touchFile(root, name, marker('1')), { name: 'TerminalError', message: words });
    });
  }
});
