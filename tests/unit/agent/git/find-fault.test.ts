import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { faultOfFetch } from '../../../../agent/git/find-fault.ts';
import { startGitStream } from '../../../../agent/git/git-stream.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { gitErrorOf } from '../../../../shared/io/git/git-error.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const COMMIT = 'c'.repeat(40);

const tooDeep = { name: 'TerminalError', code: 'commit.tooDeep', reason: 'ContentInvalid' };
const badPack = { name: 'TransientError', code: 'git.badPack', reason: 'CommitNotServed' };

suite('an error of a fetch explains the output of git', () => {
  for (const [printed, expected] of [
    ['fatal: pack has 3 unresolved deltas\nfatal: fetch-pack: invalid index-pack output', badPack],
    ['error: --shallow-file died of signal 11\nerror: remote did not send all necessary objects', tooDeep],
    ['fatal: early EOF\nfatal: fetch-pack: invalid index-pack output', { code: 'git.brokeOff' }],
    [
      'fetch-pack: unexpected disconnect while reading sideband packet\nfatal: protocol error: bad pack header',
      { code: 'git.brokeOff' },
    ],
    ['remote: fatal: pack is corrupted\nfatal: something else', { code: 'git.unreachable' }],
  ] as const) {
    test(printed, () => {
      const error = faultOfFetch(
        gitErrorOf(`warning: filtering not recognized by server, ignoring\n${printed}`),
        COMMIT,
      );
      assert.throws(() => {
        throw error;
      }, expected);
    });
  }
});

async function listBy(t: TestContext, script: string) {
  const directory = await temporaryDirectory(t, 'git-');
  await writeFile(path.join(directory, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const stream = startGitStream(new Git({ PATH: `${directory}:${process.env.PATH}` }), '/nowhere', ['ls-tree']);
  stream.output.resume();
  await stream.finish();
}

suite('directories that are nested too deep for git', () => {
  test('are named when git counts them', async (t) => {
    await assert.rejects(listBy(t, 'echo "error: exceeded maximum allowed tree depth" >&2; exit 1'), tooDeep);
  });

  test('are named when git crashes on them', async (t) => {
    const crashed = { name: 'TransientError', code: 'git.crashed' };
    await assert.rejects(listBy(t, 'kill -SEGV $$'), crashed);
  });
});
