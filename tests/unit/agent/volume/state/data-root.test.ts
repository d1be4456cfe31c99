import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { hasJournal, Journal } from '../../../../../agent/volume/manifest/journal.ts';
import { ManifestFile } from '../../../../../agent/volume/manifest/manifest-file.ts';
import { listBelow } from '../../../../../agent/volume/scan/scan-tree.ts';
import { DataRoot } from '../../../../../agent/volume/state/data-root.ts';
import { codedError } from '../../../../support/coded-error.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { mockCalls } from '../../support/mock-calls.ts';

async function makeRoot(t: TestContext): Promise<{ root: DataRoot; own: string }> {
  const directory = await temporaryDirectory(t, 'root-');
  return { root: await DataRoot.open(directory), own: path.join(directory, '.sync-agent') };
}

suite("the directory of the agent's own files", () => {
  for (const code of ['EMFILE', 'EACCES']) {
    test(`isn't reported as a conflict if it can't be opened (${code})`, async (t) => {
      const { root } = await makeRoot(t);
      root.openAgentDirectory('taken-over').close();
      for (const name of ['.sync-agent', 'taken-over']) {
        const end = mockCalls(t, ['openSync'], (_, args, real) => {
          if (String(args[0]).endsWith(`/${name}`)) throw codedError(code);
          return real(...args);
        });
        assert.throws(() => root.openAgentDirectory('taken-over'), { name: 'Error', code });
        end();
      }
    });
  }

  for (const [what, make] of [
    ['a file', (place: string) => fs.writeFileSync(place, 'THEIRS')],
    ['a link', (place: string) => fs.symlinkSync('elsewhere', place)],
  ] as const) {
    test(`is to be removed, says the error, if it is ${what}`, async (t) => {
      const { root, own } = await makeRoot(t);
      make(own);
      assert.throws(() => root.openAgentDirectory('lock'), { code: 'data.agentFolder' });
    });
  }

  test("isn't read through a link", async (t) => {
    const { root, own } = await makeRoot(t);
    const outside = await temporaryDirectory(t, 'outside-');
    for (const name of ['manifest.jsonl', 'journal.jsonl']) fs.writeFileSync(path.join(outside, name), '{}');
    fs.symlinkSync(outside, own);
    const manifestFile = new ManifestFile(root, pino({ level: 'silent' }));
    await assert.rejects(manifestFile.read(), { code: 'data.agentFolder' });
    assert.equal(hasJournal(root), false);
    assert.equal(await Journal.open(root), undefined);
  });
});

test('a directory behind a link is never listed', async (t) => {
  const { root } = await makeRoot(t);
  const outside = await temporaryDirectory(t, 'outside-');
  fs.writeFileSync(path.join(outside, 'secret'), '');
  fs.symlinkSync(outside, path.join(root.path, 'd'));
  assert.deepEqual(await listBelow(root, 'd', { isOwn: () => false }), []);
});
