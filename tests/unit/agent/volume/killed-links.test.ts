import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { everyStep } from '../support/kill-at.ts';
import { type Files, KilledVolume } from '../support/killed-volume.ts';

/** Links that are added, changed, and removed, and paths that turn from one kind into another. */
const BEFORE: Files = {
  file: '1',
  changed: '-> file',
  removed: '-> file',
  'link-to-file': '-> file',
  'file-to-link': 'file',
  'link-to-directory': '-> nowhere',
  'directory-to-link/a': '1',
};
const AFTER: Files = {
  file: '2',
  changed: '-> /usr/share/x',
  added: '-> file',
  'link-to-file': 'file',
  'file-to-link': '-> file',
  'link-to-directory/a': '2',
  'directory-to-link': '-> nowhere',
};

const VOLUMES = {
  'with hard links': { hasLinks: true, keepsInodes: true },
  'without hard links': { hasLinks: false, keepsInodes: true },
  'with other inodes after a restart': { hasLinks: true, keepsInodes: false },
};

suite('links that are kept, after a kill at any step', () => {
  for (const [name, fileSystem] of Object.entries(VOLUMES)) {
    test(`are all old or all new on a volume ${name}`, async (t) => {
      const volume = await KilledVolume.create(t);
      await everyStep(t, { atLeast: 20, atMost: 200 }, async (step) => {
        await volume.empty(fileSystem);
        await volume.sync(BEFORE);
        const played = await volume.sync(AFTER, {}, step);
        if (!played.met) return played;
        await volume.settle({ case: false, unicode: false, keepsModes: true });
        const settled = volume.contents();
        assert.deepEqual(settled, settled.added === undefined ? BEFORE : AFTER, `step ${step}`);
        await volume.sync(AFTER);
        assert.deepEqual(volume.contents(), AFTER, `step ${step}`);
        for (const directory of ['staging', 'saved', 'taken-over']) assert.deepEqual(volume.own(directory), []);
        return played;
      });
    });
  }
});
