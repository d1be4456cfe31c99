import assert from 'node:assert/strict';
import { chmod, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { LEFT_OUT, UNPATCHED } from '../../../cli/fleet/inspection.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { annotationOf, applyPatch, arrange } from './inspected-gateway.ts';

const server = await shareGitServer();

suite('kubectl stoker drift', () => {
  test("prints a patch that makes a clone identical to the gateway's files", async (t) => {
    const world = await arrange(t, server, 'drift');
    const { stoker, write, pod, commit } = world;
    const clean = await stoker('drift', 'gw');
    assert.deepEqual([clean.status, clean.notes], [0, '']);
    assert.equal(clean.output, `gateway-0: all files match main (${commit.slice(0, 8)})\n`);

    const changed = {
      'a.txt': 'zero\none\nTWO\r\nthree',
      'with a space.txt': 'no newline at the end\nnow there is one\n',
      'ünï "quoted".txt': 'x\r\n\ty\u00a0\n\n',
    };
    for (const [file, content] of Object.entries(changed)) await write(`etc/${file}`, content);
    await chmod(path.join(pod.data, 'etc/run.sh'), 0o755);
    await rm(path.join(pod.data, 'etc/gone.txt'));
    await write('etc/picture.bin', 'c\0d');
    await write('etc/server.key', 'a-secret-by-its-name');
    await write('etc/tls.txt', '-----BEGIN EC PRIVATE KEY-----\na-secret-by-its-content\n');
    await write('rendered/name.txt', 'I am a-template-that-changed\n');

    const { status, output: patch, notes } = await stoker('drift', 'gw', '--patch');
    assert.equal(status, 2);
    for (const [file, why] of [
      ['config/gone.txt', UNPATCHED.deleted],
      ['config/picture.bin', 'binary'],
      ['config/server.key', LEFT_OUT.secret],
      ['config/tls.txt', LEFT_OUT.secret],
      ['rendered/name.txt', LEFT_OUT.template],
    ]) {
      assert.ok(notes.includes(`not in the patch: ${file}: ${why} (gateway-0)\n`), notes);
    }
    assert.equal(notes.split('\n').length, 6, notes);
    for (const secret of [/a-secret/, /a-template/, /a-value/]) assert.doesNotMatch(patch, secret);

    const clone = await applyPatch(t, world, patch);
    for (const file of Object.keys(changed))
      assert.deepEqual(
        await readFile(path.join(clone, 'config', file)),
        await readFile(path.join(pod.data, 'etc', file)),
      );
    const touched = await runCommand('git', ['-C', clone, 'status', '--porcelain', '-z']);
    const expected = [...Object.keys(changed), 'run.sh'].map((file) => ` M config/${file}`);
    assert.deepEqual(touched.split('\0').filter(Boolean).sort(), expected.sort());
    const summary = await runCommand('git', ['-C', clone, 'diff', '--summary']);
    assert.equal(summary, ' mode change 100644 => 100755 config/run.sh\n');

    const deleted = await applyPatch(t, world, (await stoker('drift', 'gw', '--patch', '--with-deleted')).output);
    await assert.rejects(readFile(path.join(deleted, 'config/gone.txt')), { code: 'ENOENT' });

    assert.equal(await annotationOf(pod), undefined);
    await pod.untilReport('no answer any more', ({ status }) => status?.inspection === undefined);
  });
});
