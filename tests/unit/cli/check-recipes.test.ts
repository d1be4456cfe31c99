import assert from 'node:assert/strict';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { git } from '../../../scripts/testbed/git-command.ts';
import { readManifests } from '../../support/markdown.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const root = path.join(import.meta.dirname, '../../..');

suite('kubectl stoker check accepts the repository, and the page lists all files, of', async () => {
  for (const { file } of await readManifests()) {
    test(path.dirname(file), async (t) => {
      const checkout = await temporaryDirectory(t, 'recipe-');
      await cp(path.join(root, path.dirname(file), 'repository'), checkout, { recursive: true });
      await git(checkout, ['init', '--quiet']);
      await git(checkout, ['add', '.']);
      await git(checkout, ['commit', '--quiet', '--message', 'Start']);
      const page = await readFile(path.join(root, path.dirname(file), 'README.md'), 'utf8');
      for (const name of (await git(checkout, ['ls-files'])).split('\n'))
        assert.match(page, new RegExp(path.basename(name)));
      const { status, notes } = await runCli(['check', '--file', path.join(root, file), checkout]);
      assert.equal(status, 0, notes);
    });
  }
});
