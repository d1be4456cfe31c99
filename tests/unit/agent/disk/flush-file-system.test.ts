import assert from 'node:assert/strict';
import { watch } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { flushFileSystem } from '../../../../agent/disk/flush-file-system.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { localSandbox } from '../support/local-sandbox.ts';

/** Puts another sync(1) into the path, and returns its directory. */
async function replaceSync(t: TestContext, script: string): Promise<string> {
  const directory = await temporaryDirectory(t, 'bin-');
  const program = path.join(directory, 'sync');
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  const { PATH } = process.env;
  process.env.PATH = `${directory}:${PATH}`;
  t.after(() => {
    process.env.PATH = PATH;
  });
  return directory;
}

/** Waits for a disk that doesn't respond. */
const HANGS = 'exec /bin/sleep 60';
/** Above the number of files that are flushed one by one. */
const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${n}`, `${n}`]));

suite('the flush of a file system', () => {
  test('succeeds', async (t) => {
    assert.equal(await flushFileSystem(await temporaryDirectory(t, 'flush-')), true);
  });

  for (const [what, script] of [
    ['fails', 'exit 1'],
    ['is killed', 'kill -9 $$'],
    ['exceeds its time limit', HANGS],
  ] as const)
    test(`is left to the caller if sync(1) ${what}`, async (t) => {
      await replaceSync(t, script);
      assert.equal(await flushFileSystem('/', undefined, 100), false);
    });

  test('is left to the caller on a machine without sync(1)', async (t) => {
    const { PATH } = process.env;
    process.env.PATH = '/nowhere';
    t.after(() => {
      process.env.PATH = PATH;
    });
    assert.equal(await flushFileSystem('/'), false);
  });
});

suite('a sync of many files to a disk that is flushed', () => {
  test('ends at once if it is aborted, and has changed nothing', { timeout: 30_000 }, async (t) => {
    const { sandbox, repo, commit, deliver } = await localSandbox(t);
    await deliver({ 0: 'before' });
    const directory = await replaceSync(t, `: > "\${0%/*}/started"\n${HANGS}`);
    const started = new Promise((resolve) => {
      const watcher = watch(directory, resolve);
      t.after(() => watcher.close());
    });
    const controller = new AbortController();
    const outcome = sandbox.sync({ repo, commit: await commit({ files: many }) }, controller.signal);
    const rejected = assert.rejects(outcome, /a newer commit/);
    await started;
    controller.abort(new Error('a newer commit'));
    await rejected;
    assert.deepEqual(await sandbox.files(), { 0: 'before' });
  });

  test('flushes each file if the file system as a whole fails', async (t) => {
    const { sandbox, deliver } = await localSandbox(t);
    await replaceSync(t, 'exit 1');
    await deliver(many);
    assert.deepEqual(await sandbox.files(), many);
  });
});
