import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { USUAL_TRAITS } from '../../../../agent/plan/volume-traits.ts';
import { slow } from '../../../support/depth.ts';
import { changesOf } from '../support/changes-of.ts';
import { actAt, failAt, killAt } from '../support/kill-at.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { below } from '../support/tree-files.ts';
import { denyLinks } from '../support/volume-calls.ts';

type Changes = Record<string, string | null>;

async function prepare(t: TestContext, files: Changes, hasLinks = true) {
  denyLinks(!hasLinks);
  t.after(() => denyLinks(false));
  const { sandbox, at, deliver, sync } = await localSandbox(t);
  await deliver(files);
  return {
    sandbox,
    at,
    deliver,
    sync,
    keptFiles: () => below(at('.sync-agent/taken-over')),
    /** Delivers changes, and does something after the plan was made and before anything changes. */
    deliverWhile: async (act: () => void, changes: Changes) => {
      const played = actAt(sandbox.data, 1, act);
      try {
        await deliver(changes);
      } finally {
        played.end();
        assert.ok(played.met);
      }
    },
    /** Delivers changes, which fails at the first change of a file, and does something right before. */
    failAtFile: async (file: string, changes: Changes, inBetween = () => {}) => {
      const played = failAt(sandbox.data, 1, 'EIO', { from: new RegExp(`/data/${file}$`), inBetween });
      await assert.rejects(deliver(changes).finally(played.end), /EIO: played/);
    },
    /** Another program moves a file to a path. */
    replace: (name: string, text: string) => {
      fs.writeFileSync(at('moved'), text);
      fs.renameSync(at('moved'), at(name));
    },
  };
}

const changed = (name: string) => ({
  name: 'TransientError',
  code: 'data.changed',
  message: new RegExp(`^${name} `),
});

for (const hasLinks of [true, false]) {
  const kind = `with${hasLinks ? '' : 'out'} hard links`;
  suite(`when a foreign program acts between check and move, ${kind},`, () => {
    test('a file that appears in the place of a new one stays, and is then taken over', async (t) => {
      const { sandbox, at, deliver, deliverWhile, sync, keptFiles } = await prepare(t, { a: '1' }, hasLinks);
      const appear = () => fs.writeFileSync(at('new'), 'theirs');
      await assert.rejects(deliverWhile(appear, { new: '1', z: '1' }), changed('new'));
      assert.deepEqual(await sandbox.files(), { a: '1', new: 'theirs' });
      const { plan, takenOver } = await sync();
      assert.deepEqual(changesOf(plan), ['modify new TakenOver', 'add z New']);
      assert.deepEqual(await sandbox.files(), { a: '1', new: '1', z: '1' });
      assert.deepEqual(
        [takenOver?.names, (await deliver({ new: null })).takenOver?.names],
        [['new.kept'], ['new.kept']],
      );
      assert.deepEqual([await sandbox.files(), keptFiles()], [{ a: '1', z: '1' }, { 'new.kept': 'theirs' }]);
      fs.rmSync(at('.sync-agent/taken-over'), { recursive: true });
      assert.deepEqual((await sync()).takenOver?.names, []);
    });

    test('a file that was changed or replaced is neither replaced nor removed', async (t) => {
      const files = { a: '1', b: '1', c: '1', keep: '1' };
      const { sandbox, at, deliverWhile, sync, replace } = await prepare(t, files, hasLinks);
      await assert.rejects(
        deliverWhile(() => fs.appendFileSync(at('a'), ' of theirs'), { a: '2' }),
        changed('a'),
      );
      assert.equal(await readFile(at('a'), 'utf8'), '1 of theirs');
      await sync();
      await assert.rejects(
        deliverWhile(() => replace('b', 'theirs'), { b: null, c: null }),
        changed('b'),
      );
      assert.deepEqual(await sandbox.files(), { a: '2', b: 'theirs', c: '1', keep: '1' });
    });

    test('a file that became too large to read in time is recognized by its size', async (t) => {
      const { at, deliverWhile } = await prepare(t, { a: '1', z: '1' }, hasLinks);
      await assert.rejects(
        deliverWhile(() => fs.truncateSync(at('a'), 8e12), { a: null }),
        changed('a'),
      );
      assert.equal((await stat(at('a'))).size, 8e12);
    });

    test('a file that was rewritten with the same content counts as the same', async (t) => {
      const { sandbox, deliverWhile, replace } = await prepare(t, { a: '1' }, hasLinks);
      await deliverWhile(() => replace('a', '1'), { a: '2' });
      assert.deepEqual(await sandbox.files(), { a: '2' });
    });

    test('a foreign directory in the place of a delivered file stays with all its content', async (t) => {
      const { sandbox, at, deliverWhile } = await prepare(t, { a: '1', b: '1', c: '1' }, hasLinks);
      const exchange = (name: string) => () => {
        fs.rmSync(at(name));
        fs.mkdirSync(at(name));
        fs.writeFileSync(at(`${name}/theirs`), 'theirs');
      };
      await assert.rejects(deliverWhile(exchange('a'), { a: null }), changed('a'));
      await assert.rejects(deliverWhile(exchange('b'), { b: '2' }), changed('b'));
      assert.deepEqual(await sandbox.files(), { 'a/theirs': 'theirs', 'b/theirs': 'theirs', c: '1' });
    });

    test("a foreign file in the place of a new one isn't removed with it", async (t) => {
      const { sandbox, sync, failAtFile, replace } = await prepare(t, { 'a/x': '1', 'b/x': '1' }, hasLinks);
      await failAtFile('b/x', { 'a/x': '2', 'b/x': '2' }, () => replace('a/x', 'theirs'));
      assert.deepEqual(await sandbox.files(), { 'a/x': 'theirs', 'b/x': '1' });
      await sync();
      assert.deepEqual(await sandbox.files(), { 'a/x': '2', 'b/x': '2' });
    });
  });

  suite(`a file that was there before the sync, ${kind},`, () => {
    /** A volume with such a file, and an empty directory. */
    const prepareTheirs = async (t: TestContext) => {
      const prepared = await prepare(t, { z: '1' }, hasLinks);
      for (const name of ['d', 'e']) await mkdir(prepared.at(name));
      await writeFile(prepared.at('d/a'), 'theirs');
      return prepared;
    };

    test('is restored when its takeover fails, and kept once it succeeds', async (t) => {
      const { sandbox, at, sync, failAtFile, keptFiles } = await prepareTheirs(t);
      const theirs = await stat(at('d/a'));
      await failAtFile('e/b', { 'd/a': '1', 'e/b': '1' });
      assert.deepEqual([await sandbox.files(), keptFiles()], [{ 'd/a': 'theirs', z: '1' }, {}]);
      await sync();
      assert.deepEqual(await sandbox.files(), { 'd/a': '1', 'e/b': '1', z: '1' });
      await failAtFile('e/b', { 'd/a': null, 'e/b': null });
      assert.deepEqual(await sandbox.files(), { 'd/a': '1', 'e/b': '1', z: '1' });
      await sync();
      assert.deepEqual([await sandbox.files(), keptFiles()], [{ z: '1' }, { 'd/a.kept': 'theirs' }]);
      const { mtimeMs, ino } = await stat(at('.sync-agent/taken-over/d/a.kept'));
      assert.deepEqual([mtimeMs, ino], [theirs.mtimeMs, theirs.ino], 'the very same file');
    });

    test('is kept again if a copy is put back before the file of the agent is removed', async (t) => {
      const { sandbox, at, deliver, keptFiles } = await prepareTheirs(t);
      await deliver({ 'd/a': '1' });
      fs.copyFileSync(at('.sync-agent/taken-over/d/a.kept'), at('d/a'));
      await deliver({ 'd/a': null });
      assert.deepEqual(await sandbox.files(), { z: '1' });
      assert.deepEqual(keptFiles(), { 'd/a.kept': 'theirs', 'd/a.2.kept': 'theirs' });
    });

    test("is restored later if a failed sync can't restore everything", async (t) => {
      const { sandbox, deliver, sync, keptFiles } = await prepareTheirs(t);
      const outage = killAt(sandbox.data, { step: 1 }, { from: /\/data\/e\/b$/ });
      await assert.rejects(deliver({ 'd/a': '1', 'e/b': '1' }).finally(outage.end), /EIO: killed/);
      await sync();
      assert.deepEqual(await sandbox.files(), { 'd/a': '1', 'e/b': '1', z: '1' });
      await deliver({ 'd/a': null, 'e/b': null });
      assert.deepEqual([await sandbox.files(), keptFiles()], [{ z: '1' }, { 'd/a.kept': 'theirs' }]);
    });

    test('is kept next to earlier ones of its path, whatever has its name, even after a restart', slow, async (t) => {
      const { sandbox, at, deliver, keptFiles } = await prepareTheirs(t);
      await deliver({ 'd/a': '1' });
      await sandbox.restart();
      await deliver({ 'd/a': null });
      await mkdir(at('d'), { recursive: true });
      await mkdir(at('.sync-agent/taken-over/d/a.2.kept'));
      await writeFile(at('d/a'), 'theirs again');
      await deliver({ 'd/a': '2' });
      assert.deepEqual(keptFiles(), { 'd/a.kept': 'theirs', 'd/a.3.kept': 'theirs again' });
      await rm(at('.sync-agent/taken-over/d'), { recursive: true });
      await writeFile(at('.sync-agent/taken-over/d'), 'of the gateway');
      await writeFile(at('d/b'), 'theirs, too');
      await deliver({ 'd/b': '2' });
      assert.deepEqual(keptFiles(), { d: 'of the gateway', 'd.2/b.kept': 'theirs, too' });
      await deliver({ 'd/a': null, 'd/b': null });
      assert.deepEqual(await sandbox.files(), { z: '1' }, 'what was removed there changes nothing');
    });
  });
}

suite('links are never followed', () => {
  test('in the place of a directory, if they appear after the plan was made', async (t) => {
    const { sandbox, at, deliverWhile } = await prepare(t, { 'd/a': '1', 'e/a': '1', 'f/g/a': '1', z: '1' });
    const outside = path.join(sandbox.directory, 'outside');
    const exchange = (name: string) => () => {
      fs.renameSync(at(name), outside);
      fs.symlinkSync(outside, at(name));
    };
    await assert.rejects(deliverWhile(exchange('d'), { 'd/a': '2' }), { code: 'data.symbolicLink' });
    assert.equal(await readFile(path.join(outside, 'a'), 'utf8'), '1');
    await rm(at('d'));
    await rename(outside, at('d'));
    await deliverWhile(exchange('e'), { 'e/a': null });
    assert.deepEqual(await readdir(outside), ['a']);
    await rm(outside, { recursive: true });
    await rm(path.join(at('f/g/a')));
    await deliverWhile(exchange('f'), { 'f/g/a': null });
    assert.deepEqual(await readdir(outside), ['g'], 'not even an empty folder goes');
  });

  test("in the place of the agent's own directories and files", async (t) => {
    const { sandbox, at, deliver, sync } = await prepare(t, { a: '1' });
    const outside = path.join(sandbox.directory, 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, '0'), 'theirs');
    for (const name of ['staging/1.uid', 'staging', 'lock', 'taken-over']) {
      await rm(at(`.sync-agent/${name}`), { recursive: true, force: true });
      await symlink(outside, at(`.sync-agent/${name}`));
      await writeFile(at('b'), `theirs ${name}`);
      await deliver({ a: name, b: name }).catch((error) => assert.equal(error.code, 'data.agentFolder'));
      await rm(at(`.sync-agent/${name}`), { recursive: true, force: true });
      await sync();
      assert.deepEqual(await sandbox.files(), { a: name, b: name });
      assert.deepEqual(await readdir(outside), ['0']);
      assert.equal(await readFile(path.join(outside, '0'), 'utf8'), 'theirs');
    }
  });
});

test('names that would collide on the volume are rejected before the first write', async (t) => {
  const { sandbox, at, deliver, sync } = await prepare(t, { a: '1', 'd/x': '1' });
  assert.deepEqual(sandbox.root.traits, USUAL_TRAITS, 'probed when the lock was taken');
  sandbox.root.traits = { case: true, unicode: true, keepsModes: true };
  const refusal = { name: 'TerminalError', code: 'sync.NameCollision', message: /^a .* A / };
  await assert.rejects(deliver({ A: '2' }), refusal);
  await assert.rejects(sync({ dryRun: true }), refusal);
  await assert.rejects(deliver({ A: null, 'D/y': '2' }), { code: 'sync.NameCollision', message: /^d .* D / });
  assert.deepEqual(await sandbox.files(), { a: '1', 'd/x': '1' });
  assert.deepEqual(await readdir(at('.sync-agent/staging')), []);
});

suite("a profile's setting", () => {
  test('onConflict: refuse changes nothing, as a dry run reports, and ignores templates with the same result', async (t) => {
    const { sandbox, at, deliver, sync, keptFiles } = await prepare(t, { z: '1' });
    await writeFile(at('a'), 'theirs');
    await writeFile(at('b'), 'edge');
    const template = { mappings: [{ source: '.', destination: '.', required: true, template: true }] };
    const refuse = { ...template, onConflict: 'refuse' as const };
    const refusal = { code: 'sync.PathConflict', message: /^a .*\(onConflict: refuse\)/ };
    await assert.rejects(deliver({ a: '1', b: '{{ .GatewayName }}' }, refuse), refusal);
    await assert.rejects(sync({ ...refuse, dryRun: true }), refusal);
    assert.deepEqual(await sandbox.files(), { a: 'theirs', b: 'edge', z: '1' });
    await sync(template);
    assert.deepEqual(await sandbox.files(), { a: '1', b: 'edge', z: '1' });
    await deliver({ a: null, b: null }, template);
    assert.deepEqual([await sandbox.files(), keptFiles()], [{ b: 'edge', z: '1' }, { 'a.kept': 'theirs' }]);
  });

  test('groupWrite makes files and directories group-writable, and keeps the group of the volume', async (t) => {
    const { sandbox, at, deliver, sync } = await prepare(t, { a: '1' });
    await deliver({ 'd/e/f': '1' }, { groupWrite: true });
    const mode = async (name: string) => ((await stat(at(name))).mode & 0o7777).toString(8);
    assert.deepEqual(
      [await mode('a'), await mode('d'), await mode('d/e'), await mode('d/e/f')],
      ['664', '775', '775', '664'],
    );
    fs.chmodSync(sandbox.data, 0o2775);
    await deliver({ 'g/h': '1' }, { groupWrite: true });
    assert.deepEqual([await mode('g'), await mode('g/h')], ['2775', '664']);
    assert.deepEqual((await sync({ groupWrite: true })).plan.changes, []);
    await sync();
    assert.deepEqual([await mode('a'), await mode('g/h')], ['644', '644']);
  });
});
