import assert from 'node:assert/strict';
import fs from 'node:fs';
import { suite, test } from 'node:test';
import { localSandbox } from '../support/local-sandbox.ts';

const replaced = { name: 'TransientError', code: 'data.replaced' };

suite('while another directory is in the place of the data volume, a running agent', () => {
  test('remembers everything that it owns and keeps in the first one', async (t) => {
    const { repo, commit, sandbox, at, sync, deliver } = await localSandbox(t, 'replaced-volume');
    const away = `${sandbox.data}.away`;
    fs.writeFileSync(at('f'), 'THEIRS');
    await deliver({ a: '1', f: 'OURS' });
    const two = await commit({ files: { f: 'OURS 2' } });
    const three = await commit({ files: { f: null } });
    fs.renameSync(sandbox.data, away);
    fs.mkdirSync(sandbox.data);
    await assert.rejects(sync({}, two), replaced);
    await assert.rejects(sandbox.inspect({ kind: 'drift' }, { repo, commit: two }), replaced);
    assert.deepEqual(fs.readdirSync(sandbox.data), []);
    fs.rmSync(sandbox.data, { recursive: true });
    fs.renameSync(away, sandbox.data);
    await sync({}, two);
    assert.deepEqual(await sandbox.files(), { a: '1', f: 'OURS 2' });
    await sync({}, three);
    assert.deepEqual(await sandbox.files(), { a: '1' });
    assert.equal(fs.readFileSync(at('.sync-agent/taken-over/f.kept'), 'utf8'), 'THEIRS');
  });

  test('reads no manifest there', async (t) => {
    const { sandbox, deliver } = await localSandbox(t, 'replaced-manifest');
    await deliver({ a: '1' });
    await sandbox.restart();
    fs.renameSync(sandbox.data, `${sandbox.data}.away`);
    await assert.rejects(sandbox.applied(), replaced);
    fs.mkdirSync(sandbox.data);
    await assert.rejects(sandbox.applied(), replaced);
  });

  test("reports no sync if it didn't sync", async (t) => {
    const { commit, sandbox, sync, deliver } = await localSandbox(t, 'replaced-by-copy');
    await deliver({ f: 'one' });
    const two = await commit({ files: { f: 'two' } });
    fs.renameSync(sandbox.data, `${sandbox.data}.away`);
    fs.cpSync(`${sandbox.data}.away`, sandbox.data, { recursive: true, preserveTimestamps: true });
    await assert.rejects(sync({}, two), replaced);
    await assert.rejects(sync({ dryRun: true }, two), replaced);
    assert.deepEqual(await sandbox.files(), { f: 'one' });
  });
});
