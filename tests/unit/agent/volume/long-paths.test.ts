import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { directoriesOf } from '../../../../agent/plan/directories.ts';
import { emptyManifest } from '../../../../agent/plan/manifest.ts';
import { manifestText } from '../../../../agent/volume/manifest/manifest-text.ts';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';
import { slow } from '../../../support/depth.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { ownedFile } from '../support/memory-volume.ts';

const directory = 'n'.repeat(200);
/** Longer than what Linux takes for a path; each part of it can be made. */
const long = `${Array(21).fill(directory).join('/')}/f`;

/** Makes directories one in the other, further down than a path leads. */
async function makeDeep(data: string, below: string): Promise<DataRoot> {
  const root = await DataRoot.open(data);
  for (const made of directoriesOf(`${below}/x`)) {
    const parent = root.openDirectory(made.includes('/') ? made.slice(0, made.lastIndexOf('/')) : '');
    parent.make(made.slice(made.lastIndexOf('/') + 1));
    parent.close();
  }
  return root;
}

suite('paths that are too long', () => {
  for (const [name, file] of [
    ['a path', long],
    ['a name', `d/${'é'.repeat(128)}`],
  ] as const) {
    test(`are rejected with the commit, and the next commit is delivered: ${name}`, slow, async (t) => {
      const { sandbox, deliver, sync } = await localSandbox(t);
      await deliver({ ok: '0' });
      const isNamed = ({ code, message }: { code: string; message: string }) =>
        code === 'sync.ProfileInvalid' && message.includes(file.slice(0, 50)) && message.length < 1_000;
      await assert.rejects(deliver({ ok: '1', [file]: 'x' }), isNamed);
      assert.deepEqual(await sandbox.files(), { ok: '0' });
      await sync({ excludePatterns: [`${file.slice(0, file.indexOf('/'))}/`] });
      assert.deepEqual(await sandbox.files(), { ok: '1' });
      await deliver({ ok: '2', [file]: null });
      assert.deepEqual(await sandbox.files(), { ok: '2' });
    });
  }

  test('are removed with the next commit if an earlier version delivered them', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    const root = await makeDeep(sandbox.data, path.dirname(long));
    const parent = root.openDirectory(path.dirname(long));
    await writeFile(parent.at('f'), 'x');
    const { size, mtimeMs, ino } = lstatSync(parent.at('f'));
    parent.close();
    const owned = ownedFile(long, {
      blob: 'c1b0730a1d0fd9b3b9d8f8a5cbe2bd8f9f5a9d0c',
      sha256: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
      fingerprint: { size, mtimeMs, ino },
    });
    const manifest = { ...emptyManifest(), files: new Map([[long, owned]]), directories: new Set(directoriesOf(long)) };
    await mkdir(at('.sync-agent'));
    const text = [...manifestText(manifest)].join('');
    await writeFile(at('.sync-agent/manifest.jsonl'), text);
    await deliver({ ok: '0' });
    assert.deepEqual((await readdir(sandbox.data)).sort(), ['.sync-agent', 'ok']);
  });

  test("are a conflict if the gateway's directories are in the place of a file, however deep", async (t) => {
    const { sandbox, at, deliver, sync } = await localSandbox(t);
    const deep = `ok/${Array(25).fill(directory).join('/')}`;
    await makeDeep(sandbox.data, deep);
    await assert.rejects(deliver({ ok: '0' }), { code: 'sync.PathConflict' });
    await promisify(execFile)('rm', ['-r', at('ok')]); // Node's own does not get so deep
    await sync();
    assert.deepEqual(await sandbox.files(), { ok: '0' });
  });
});
