import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { BlobReader } from '../../../../agent/git/blob-reader.ts';
import { DamagedCloneError, recordsOf, startGitStream } from '../../../../agent/git/git-stream.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { fc } from '../../../support/property.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const git = new Git({ PATH: '/usr/local/bin:/usr/bin:/bin' });

suite('a stream of git output', () => {
  test('is split at each NUL, in whatever chunks it arrives, and drops an unterminated record', async () => {
    const bytes = fc.uint8Array({ max: 3, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: 1, max: 12 }), async (given, pieceSize) => {
        const data = Buffer.from(given);
        async function* pieces() {
          for (let at = 0; at < data.length; at += pieceSize) yield data.subarray(at, at + pieceSize);
        }
        const records: string[] = [];
        for await (const batch of recordsOf(pieces())) records.push(...batch.map((each) => each.toString('hex')));
        const expected = data.toString('latin1').split('\0').slice(0, -1);
        assert.deepEqual(
          records,
          expected.map((text) => Buffer.from(text, 'latin1').toString('hex')),
        );
      }),
    );
  });

  test("that failed carries git's error output, which no report repeats", async () => {
    const stream = startGitStream(git, '/nowhere', ['cat-file', '--batch']);
    stream.child.stdin?.end();
    await assert.rejects(stream.finish(), (error: DamagedCloneError) => {
      assert.ok(error instanceof DamagedCloneError);
      assert.deepEqual([error.code, error.reason], ['clone.damaged', 'CloneDamaged']);
      assert.match((error.cause as Error).message, /not a git repository: '\/nowhere'/);
      return !error.message.includes('/nowhere');
    });
    assert.equal((new DamagedCloneError('x'.repeat(600)).cause as Error).message.length, 500);
  });

  test("doesn't blame the clone if git did not start or was killed", async (t) => {
    const missing = new Git({ PATH: '/nowhere' });
    const stream = startGitStream(missing, '/nowhere', ['cat-file', '--batch']);
    assert.deepEqual(await stream.output.toArray(), []);
    await assert.rejects(stream.finish(), { name: 'TransientError', code: 'git.notStarted' });
    const reader = new BlobReader(missing, '/nowhere');
    await assert.rejects(reader.open('a'.repeat(40)), { name: 'TransientError', code: 'git.notStarted' });
    await reader.close();
    const directory = await temporaryDirectory(t, 'no-git-');
    await symlink('/bin/sh', path.join(directory, 'sh'));
    // With a limit it is a shell that cannot start git.
    const limited = new Git({ PATH: directory }, { memoryBytes: 64 * 1024 ** 2 });
    await assert.rejects(limited.run(['version']), { name: 'TransientError', code: 'git.notStarted' });
    const waiting = startGitStream(git, '/nowhere', ['hash-object', '--stdin']);
    waiting.child.kill('SIGKILL');
    await assert.rejects(waiting.finish(), { name: 'TransientError', code: 'git.killed' });
  });

  test('ends with its signal, for the same reason', async () => {
    const ending = new AbortController();
    const stream = startGitStream(git, '/nowhere', ['cat-file', '--batch'], ending.signal);
    const read = assert.rejects(stream.output.toArray(), { message: 'enough' });
    ending.abort(new Error('enough'));
    await read;
    await assert.rejects(stream.finish(), { message: 'enough' });
    assert.throws(() => startGitStream(git, '/nowhere', ['cat-file', '--batch'], ending.signal), { message: 'enough' });
  });
});
