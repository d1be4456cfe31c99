import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { VerificationResult } from '../../../../agent/gateway/verification.ts';
import { VerificationFile } from '../../../../agent/gateway/verification-file.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ownFileIn } from '../support/own-file-in.ts';

const verdict: VerificationResult = {
  subject: { commit: 'c', rollout: 3, revision: 'r', settings: 's' },
  generation: 4,
  state: 'Failed',
  words: 'the gateway responded with 503 to GET /health',
};

async function arrange(t: TestContext, checkOwner = () => {}) {
  const directory = await temporaryDirectory(t, 'verdict-');
  const data = path.join(directory, 'data');
  const outside = path.join(directory, 'outside');
  await mkdir(path.join(data, '.sync-agent'), { recursive: true });
  const file = path.join(data, '.sync-agent/verification');
  return { data, outside, file, results: new VerificationFile(await ownFileIn(data, 'verification', checkOwner)) };
}

suite('the file that stores the result of a verification', () => {
  test('returns what was written last, until it is removed', async (t) => {
    const { results } = await arrange(t);
    assert.equal(results.read(), undefined);
    results.write({ ...verdict, state: 'Passed' });
    results.write(verdict);
    assert.deepEqual(results.read(), verdict);
    results.remove();
    results.remove();
    assert.equal(results.read(), undefined);
  });

  test('counts as empty if it was cut off at any byte', async (t) => {
    const { results, file } = await arrange(t);
    results.write(verdict);
    const text = await readFile(file);
    for (let length = 0; length < text.length; length += 1) {
      await writeFile(file, text.subarray(0, length));
      assert.equal(results.read(), undefined);
    }
  });

  test('counts as empty if another program wrote to it', async (t) => {
    const { results, file } = await arrange(t);
    const partial = { state: 'Passed', generation: 1 };
    for (const value of [{ ...verdict, state: 'Running' }, [], partial, { ...verdict, more: 'x'.repeat(20_000) }]) {
      await writeFile(file, JSON.stringify(value));
      assert.equal(results.read(), undefined);
    }
  });

  test('follows no link, waits for no pipe, and puts a directory in its place aside', async (t) => {
    const { data, outside, results, file } = await arrange(t);
    await writeFile(outside, JSON.stringify(verdict));
    await symlink(outside, file);
    assert.equal(results.read(), undefined);
    results.write({ ...verdict, state: 'Passed' });
    assert.equal(await readFile(outside, 'utf8'), JSON.stringify(verdict));
    results.remove();
    await runCommand('mkfifo', [file]);
    assert.equal(results.read(), undefined);
    results.remove();
    await mkdir(path.join(file, 'theirs'), { recursive: true });
    assert.equal(results.read(), undefined);
    results.write(verdict);
    assert.deepEqual(results.read(), verdict);
    const [, aside = ''] = (await readdir(path.join(data, '.sync-agent'))).sort();
    assert.deepEqual(await readdir(path.join(data, '.sync-agent', aside)), ['theirs']);
  });

  test('is unchanged if the volume belongs to another agent by now', async (t) => {
    const { results, file } = await arrange(t, () => {
      throw new Error('taken over');
    });
    assert.throws(() => results.write(verdict), /taken over/);
    await assert.rejects(readFile(file), { code: 'ENOENT' });
  });

  test('is never written through a link that replaced its directory', async (t) => {
    const { data, outside, results } = await arrange(t);
    assert.equal(results.read(), undefined);
    await rename(path.join(data, '.sync-agent'), path.join(data, 'moved'));
    await mkdir(outside);
    await symlink(outside, path.join(data, '.sync-agent'));
    assert.throws(() => results.write(verdict), { name: 'TerminalError' });
    assert.deepEqual(await readdir(outside), []);
  });
});
