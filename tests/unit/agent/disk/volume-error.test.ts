import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { CLONE_VOLUME, onVolume, volumeError } from '../../../../agent/disk/volume-error.ts';
import { TerminalError } from '../../../../shared/errors.ts';
import { codedError } from '../../../support/coded-error.ts';

suite('an error of a volume', () => {
  test('names the volume', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('there is no /dev/full');
    await assert.rejects(
      onVolume(CLONE_VOLUME, () => writeFile('/dev/full', 'x')),
      {
        name: 'TransientError',
        code: 'volume.ENOSPC',
        reason: 'CloneUnusable',
        message: /^the clone volume \(REPO_PATH\) is full \(ENOSPC/,
      },
    );
  });

  test('is distinguished from any other error, which stays unchanged', () => {
    const typed = new TerminalError('x', { code: 'git.url', reason: 'Waiting' });
    for (const error of [new Error('x'), codedError('ENOENT', 'x'), typed, 'text']) {
      assert.equal(volumeError(CLONE_VOLUME, error), error);
    }
  });
});
