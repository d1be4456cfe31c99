import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { USUAL_TRAITS } from '../../../../agent/plan/volume-traits.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { actAt, failAt, killAt } from '../support/kill-at.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { denyLinks } from '../support/volume-calls.ts';

type Changes = Record<string, string | null>;

async function prepare(t: TestContext, files: Changes) {
  const { repo, commit, sandbox } = await localSandbox(t, 'foreign');
  const at = (name: string) => path.join(sandbox.data, name);
  let last = '';
  const sync = async (changes: Changes, profile: Partial<ResolvedProfile> = {}) => {
    last = await commit({ files: changes });
    return await sandbox.sync({ repo, commit: last, profile });
  };
  const again = (profile: Partial<ResolvedProfile> = {}) => sandbox.sync({ repo, commit: last, profile });
  await sync(files);
  return { sandbox, at, sync, again };
}

/** Does something while a sync runs, after the plan was made and before anything changes. */
async function inBetween<T>({ data }: Sandbox, act: () => void, run: () => Promise<T>): Promise<T> {
  const played = actAt(data, 1, act);
  try {
    return await run();
  } finally {
    played.end();
    assert.ok(played.met);
  }
}

/** Makes a sync fail at the first change of a file, and runs a function right before. */
async function failsAt({ data }: Sandbox, file: string, run: () => Promise<unknown>, act?: () => void): Promise<void> {
  const from = new RegExp(`/data/${file}$`);
  const played = failAt(data, 1, 'EIO', { from, ...(act && { inBetween: act }) });
  await assert.rejects(run().finally(played.end), /EIO: played/);
}

/** A file system without hard links, as some of FUSE and SMB. */
function withoutLinks(t: TestContext): void {
  denyLinks(true);
  t.after(() => denyLinks(false));
}

const changed = (name: string) => ({
  name: 'TransientError',
  message: new RegExp(`^${name} changed during the sync`),
});

const volumes = { 'with hard links': () => {}, 'without hard links': (t: TestContext) => withoutLinks(t) };
for (const [kind, make] of Object.entries(volumes)) {
  suite(`when a foreign program acts between check and move, ${kind},`, () => {
    test('a file that appears in the place of a new one stays, and is then taken over and restored', async (t) => {
      make(t);
      const { sandbox, at, sync, again } = await prepare(t, { a: '1' });
      await assert.rejects(
        inBetween(
          sandbox,
          () => fs.writeFileSync(at('new'), 'theirs'),
          () => sync({ new: '1', z: '1' }),
        ),
        changed('new'),
      );
      assert.deepEqual(await sandbox.files(), { a: '1', new: 'theirs' });
      assert.deepEqual(
        (await again()).plan.changes.map(({ reason }) => reason),
        ['TakenOver', 'New'],
      );
      assert.deepEqual(await sandbox.files(), { a: '1', new: '1', z: '1' });
      await sync({ new: null });
      assert.deepEqual(await sandbox.files(), { a: '1', new: 'theirs', z: '1' });
      assert.deepEqual(await readdir(at('.sync-agent/taken-over')), []);
    });

    test('a file that was changed or replaced is neither replaced nor removed', async (t) => {
      make(t);
      const { sandbox, at, sync, again } = await prepare(t, { a: '1', b: '1', c: '1', keep: '1' });
      await assert.rejects(
        inBetween(
          sandbox,
          () => fs.appendFileSync(at('a'), ' of theirs'),
          () => sync({ a: '2' }),
        ),
        changed('a'),
      );
      assert.equal(await readFile(at('a'), 'utf8'), '1 of theirs');
      await again();
      await assert.rejects(
        inBetween(
          sandbox,
          () => {
            fs.writeFileSync(at('mine'), 'theirs');
            fs.renameSync(at('mine'), at('b'));
          },
          () => sync({ b: null, c: null }),
        ),
        changed('b'),
      );
      assert.deepEqual(await sandbox.files(), { a: '2', b: 'theirs', c: '1', keep: '1' });
    });

    test('a file that became too large to read in time is recognized by its size', async (t) => {
      make(t);
      const { sandbox, at, sync } = await prepare(t, { a: '1', z: '1' });
      await assert.rejects(
        inBetween(
          sandbox,
          () => fs.truncateSync(at('a'), 8e12),
          () => sync({ a: null }),
        ),
        changed('a'),
      );
      assert.equal((await stat(at('a'))).size, 8e12);
    });

    test('a file that was rewritten with the same content counts as the same', async (t) => {
      make(t);
      const { sandbox, at, sync } = await prepare(t, { a: '1' });
      await inBetween(
        sandbox,
        () => {
          fs.rmSync(at('a'));
          fs.writeFileSync(at('a'), '1');
        },
        () => sync({ a: '2' }),
      );
      assert.deepEqual(await sandbox.files(), { a: '2' });
    });

    test('a foreign directory in the place of a delivered file stays with all its content', async (t) => {
      make(t);
      const { sandbox, at, sync } = await prepare(t, { a: '1', b: '1', c: '1' });
      const exchange = (name: string) => {
        fs.rmSync(at(name));
        fs.mkdirSync(at(name));
        fs.writeFileSync(at(`${name}/theirs`), 'theirs');
      };
      await assert.rejects(
        inBetween(
          sandbox,
          () => exchange('a'),
          () => sync({ a: null }),
        ),
        changed('a'),
      );
      await assert.rejects(
        inBetween(
          sandbox,
          () => exchange('b'),
          () => sync({ b: '2' }),
        ),
        changed('b'),
      );
      assert.deepEqual(await sandbox.files(), { 'a/theirs': 'theirs', 'b/theirs': 'theirs', c: '1' });
    });

    test("a foreign file in the place of a new one isn't removed with it", async (t) => {
      make(t);
      const { sandbox, at, sync, again } = await prepare(t, { 'a/x': '1', 'b/x': '1' });
      const act = () => {
        fs.writeFileSync(at('mine'), 'theirs');
        fs.renameSync(at('mine'), at('a/x'));
      };
      await failsAt(sandbox, 'b/x', () => sync({ 'a/x': '2', 'b/x': '2' }), act);
      assert.deepEqual(await sandbox.files(), { 'a/x': 'theirs', 'b/x': '1' });
      await again();
      assert.deepEqual(await sandbox.files(), { 'a/x': '2', 'b/x': '2' });
    });
  });

  suite(`a file that was there before the sync, ${kind},`, () => {
    test('is restored when a sync fails, in a takeover as well as in a restoration', async (t) => {
      make(t);
      const { sandbox, at, sync, again } = await prepare(t, { z: '1' });
      await mkdir(at('d'));
      await mkdir(at('e'));
      await writeFile(at('d/a'), 'theirs');
      const theirs = await stat(at('d/a'));
      await failsAt(sandbox, 'e/b', () => sync({ 'd/a': '1', 'e/b': '1' }));
      assert.deepEqual(await sandbox.files(), { 'd/a': 'theirs', z: '1' });
      await again();
      assert.deepEqual(await sandbox.files(), { 'd/a': '1', 'e/b': '1', z: '1' });
      await failsAt(sandbox, 'e/b', () => sync({ 'd/a': null, 'e/b': null }));
      assert.deepEqual(await sandbox.files(), { 'd/a': '1', 'e/b': '1', z: '1' });
      await again();
      assert.deepEqual(await sandbox.files(), { 'd/a': 'theirs', z: '1' });
      const { mtimeMs, ino } = await stat(at('d/a'));
      assert.deepEqual([mtimeMs, ino], [theirs.mtimeMs, theirs.ino], 'the very same file');
    });

    test('is restored even if the directory around it was removed', async (t) => {
      make(t);
      const { sandbox, at, sync } = await prepare(t, { z: '1' });
      await mkdir(at('d'));
      await writeFile(at('d/a'), 'theirs');
      await sync({ 'd/a': '1' });
      await rm(at('d'), { recursive: true });
      await sync({ 'd/a': null });
      assert.deepEqual(await sandbox.files(), { 'd/a': 'theirs', z: '1' });
      await sync({ z: '2' });
      assert.deepEqual(await sandbox.files(), { 'd/a': 'theirs', z: '2' });
      assert.deepEqual(await readdir(at('.sync-agent/taken-over')), []);
    });

    test("is restored later if a failed sync can't restore everything", async (t) => {
      make(t);
      const { sandbox, at, sync, again } = await prepare(t, { z: '1' });
      await mkdir(at('d'));
      await mkdir(at('e'));
      await writeFile(at('d/a'), 'theirs');
      const outage = killAt(sandbox.data, { step: 1 }, { from: /\/data\/e\/b$/ });
      await assert.rejects(sync({ 'd/a': '1', 'e/b': '1' }).finally(outage.end), /EIO: killed/);
      await again();
      assert.deepEqual(await sandbox.files(), { 'd/a': '1', 'e/b': '1', z: '1' });
      await sync({ 'd/a': null, 'e/b': null });
      assert.deepEqual(await sandbox.files(), { 'd/a': 'theirs', z: '1' });
    });

    test('survives a restart, even if the name under which it is kept is in use', slow, async (t) => {
      make(t);
      const { sandbox, at, sync } = await prepare(t, { z: '1' });
      await writeFile(at('a'), 'theirs');
      await sync({ a: '1' });
      const [kept = ''] = await readdir(at('.sync-agent/taken-over'));
      assert.match(kept, /^[0-9a-f]{16}-a\.kept$/);
      await sandbox.restart();
      await rename(at(`.sync-agent/taken-over/${kept}`), at('.sync-agent/taken-over/other'));
      await writeFile(at(`.sync-agent/taken-over/${kept}`), 'kept');
      await sync({ a: null });
      assert.deepEqual(await sandbox.files(), { a: 'kept', z: '1' });
      await writeFile(at(`.sync-agent/taken-over/${kept}`), 'of an earlier time');
      await sync({ a: '2' });
      assert.deepEqual((await readdir(at('.sync-agent/taken-over'))).sort(), [kept.replace('-', '-2-'), kept, 'other']);
      await rm(at(`.sync-agent/taken-over/${kept.replace('-', '-2-')}`));
      await sync({ a: null });
      assert.deepEqual(await sandbox.files(), { z: '1' }, 'what somebody removed cannot be given back');
    });
  });
}

suite('links are never followed', () => {
  test('in the place of a directory, if they appear after the plan was made', async (t) => {
    const { sandbox, at, sync } = await prepare(t, { 'd/a': '1', 'e/a': '1', 'f/g/a': '1', z: '1' });
    const outside = path.join(sandbox.directory, 'outside');
    const exchange = (name: string) => {
      fs.renameSync(at(name), outside);
      fs.symlinkSync(outside, at(name));
    };
    await assert.rejects(
      inBetween(
        sandbox,
        () => exchange('d'),
        () => sync({ 'd/a': '2' }),
      ),
      /d is a symbolic link in the data volume/,
    );
    assert.equal(await readFile(path.join(outside, 'a'), 'utf8'), '1');
    await rm(at('d'));
    await rename(outside, at('d'));
    await inBetween(
      sandbox,
      () => exchange('e'),
      () => sync({ 'e/a': null }),
    );
    assert.deepEqual(await readdir(outside), ['a']);
    await rm(outside, { recursive: true });
    await rm(path.join(at('f/g/a')));
    await inBetween(
      sandbox,
      () => exchange('f'),
      () => sync({ 'f/g/a': null }),
    );
    assert.deepEqual(await readdir(outside), ['g'], 'not even an empty folder goes');
  });

  test("in the place of the agent's own directories and files", async (t) => {
    const { sandbox, at, sync, again } = await prepare(t, { a: '1' });
    const outside = path.join(sandbox.directory, 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, '0'), 'theirs');
    for (const name of ['staging/1.uid', 'staging', 'lock', 'taken-over']) {
      await rm(at(`.sync-agent/${name}`), { recursive: true, force: true });
      await symlink(outside, at(`.sync-agent/${name}`));
      await writeFile(at('b'), `theirs ${name}`);
      await sync({ a: name, b: name }).catch((error) => assert.match(error.message, /must be a directory|took over/));
      await rm(at(`.sync-agent/${name}`), { recursive: true, force: true });
      await again();
      assert.deepEqual(await sandbox.files(), { a: name, b: name });
      assert.deepEqual(await readdir(outside), ['0']);
      assert.equal(await readFile(path.join(outside, '0'), 'utf8'), 'theirs');
    }
  });
});

test('names that would collide on the volume are rejected before the first write', async (t) => {
  const { sandbox, at, sync, again } = await prepare(t, { a: '1', 'd/x': '1' });
  assert.deepEqual(sandbox.root.traits, USUAL_TRAITS, 'probed when the lock was taken');
  sandbox.root.traits = { case: true, unicode: true, keepsModes: true };
  const refusal = { name: 'TerminalError', code: 'sync.NameCollision', message: /^a and A collide/ };
  await assert.rejects(sync({ A: '2' }), refusal);
  await assert.rejects(again({ dryRun: true }), refusal);
  await assert.rejects(sync({ A: null, 'D/y': '2' }), /^TerminalError: d and D collide/);
  assert.deepEqual(await sandbox.files(), { a: '1', 'd/x': '1' });
  assert.deepEqual(await readdir(at('.sync-agent/staging')), []);
});

suite("a profile's setting", () => {
  test('onConflict: refuse changes nothing, as a dry run reports, and ignores templates with the same result', async (t) => {
    const { sandbox, at, sync, again } = await prepare(t, { z: '1' });
    await writeFile(at('a'), 'theirs');
    await writeFile(at('b'), 'edge');
    const template = { mappings: [{ source: '.', destination: '.', required: true, template: true }] };
    const refuse = { ...template, onConflict: 'refuse' as const };
    const refusal = {
      name: 'TerminalError',
      code: 'sync.PathConflict',
      message: /^a exists .*\(onConflict: refuse\)/,
    };
    await assert.rejects(sync({ a: '1', b: '{{ .GatewayName }}' }, refuse), refusal);
    await assert.rejects(again({ ...refuse, dryRun: true }), refusal);
    assert.deepEqual(await sandbox.files(), { a: 'theirs', b: 'edge', z: '1' });
    await again(template);
    assert.deepEqual(await sandbox.files(), { a: '1', b: 'edge', z: '1' });
    await sync({ a: null, b: null }, template);
    assert.deepEqual(await sandbox.files(), { a: 'theirs', b: 'edge', z: '1' });
  });

  test('allowEmpty allows an empty commit and excludes that match everything, which are errors otherwise', async (t) => {
    const { sandbox, sync, again } = await prepare(t, { a: '1', 'b/c': '1' });
    const refusal = { name: 'TerminalError', code: 'sync.NothingLeft' };
    await assert.rejects(again({ excludePatterns: ['*'] }), refusal);
    await assert.rejects(again({ excludePatterns: ['*'], dryRun: true }), refusal);
    await assert.rejects(sync({ a: null, 'b/c': null }), refusal);
    assert.deepEqual(await sandbox.files(), { a: '1', 'b/c': '1' });
    await again({ prune: false });
    assert.deepEqual(await sandbox.files(), { a: '1', 'b/c': '1' });
    await again({ allowEmpty: true });
    assert.deepEqual(await sandbox.files(), {});
  });

  test('drift: report lists differences at each check, even after a restart', async (t) => {
    const { sandbox, at, again } = await prepare(t, { a: '1', b: '1', c: '1' });
    await writeFile(at('a'), 'theirs');
    await rm(at('b'));
    const left = [
      { path: 'a', reason: 'Drifted', isRepaired: false },
      { path: 'b', reason: 'Missing', isRepaired: false },
    ];
    for (let look = 0; look < 3; look += 1) {
      const { plan } = await again({ drift: 'report' });
      assert.deepEqual([plan.changes, plan.drift, plan.isPartial], [[], left, false]);
      await sandbox.restart();
    }
    assert.deepEqual((await again({ drift: 'ignore' })).plan.drift, []);
    assert.deepEqual(await sandbox.files(), { a: 'theirs', c: '1' });
    await again();
    assert.deepEqual(await sandbox.files(), { a: '1', b: '1', c: '1' });
  });

  test('drift: repair stops after three repairs in a row', async (t) => {
    const { at, again } = await prepare(t, { a: '1' });
    const repaired: boolean[] = [];
    for (let look = 0; look < 5; look += 1) {
      await writeFile(at('a'), `of the gateway ${look}`);
      repaired.push(...(await again()).plan.drift.map(({ isRepaired }) => isRepaired));
    }
    assert.deepEqual(repaired, [true, true, true, false, false]);
    assert.equal(await readFile(at('a'), 'utf8'), 'of the gateway 4');
  });

  test('groupWrite makes files and directories group-writable, and keeps the group of the volume', async (t) => {
    const { sandbox, at, sync, again } = await prepare(t, { a: '1' });
    await sync({ 'd/e/f': '1' }, { groupWrite: true });
    const mode = async (name: string) => ((await stat(at(name))).mode & 0o7777).toString(8);
    assert.deepEqual(
      [await mode('a'), await mode('d'), await mode('d/e'), await mode('d/e/f')],
      ['664', '775', '775', '664'],
    );
    fs.chmodSync(sandbox.data, 0o2775);
    await sync({ 'g/h': '1' }, { groupWrite: true });
    assert.deepEqual([await mode('g'), await mode('g/h')], ['2775', '664']);
    assert.deepEqual((await again({ groupWrite: true })).plan.changes, []);
    await again();
    assert.deepEqual([await mode('a'), await mode('g/h')], ['644', '644']);
  });
});
