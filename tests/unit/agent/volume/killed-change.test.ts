import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { describeKill, everyStep } from '../support/kill-at.ts';
import { type FileSystem, type Files, KilledVolume } from '../support/killed-volume.ts';

const FILE_SYSTEMS: FileSystem[] = [
  { hasLinks: true, keepsInodes: true },
  { hasLinks: false, keepsInodes: false },
];
const OURS: Files = { a: '1', b: '1' };
const STEPS = { atLeast: 9, atMost: 120 };

interface KilledChange {
  /** Files before the agent's first sync. */
  theirs?: Files;
  /** Files delivered by earlier syncs. */
  before?: Files;
  /** Files that others write afterwards. */
  edited?: Files;
  /** The change that is killed. */
  wanted: Files;
}

/** Kills a change at each of its calls, on each kind of volume, and checks the possible next steps. */
async function atEachKill(
  t: TestContext,
  { theirs = {}, before, edited = {}, wanted }: KilledChange,
  then: (volume: KilledVolume) => Promise<void>,
): Promise<void> {
  const volume = await KilledVolume.create(t);
  for (const fileSystem of FILE_SYSTEMS) {
    await everyStep(t, STEPS, async (step) => {
      await volume.empty(fileSystem);
      for (const [file, text] of Object.entries(theirs)) write(volume, file, text);
      if (before) await volume.sync(before);
      for (const [file, text] of Object.entries(edited)) write(volume, file, text);
      const played = await volume.sync(wanted, {}, step);
      await then(volume).catch((cause) => {
        const what = describeKill({ step, isTorn: true }, played);
        throw new Error(`${what}, ${JSON.stringify(fileSystem)}: ${cause.message}`, { cause });
      });
      return played;
    });
  }
}

const write = ({ data }: KilledVolume, file: string, text: string) => fs.writeFileSync(path.join(data, file), text);

/** With another inode, as editors write. */
function exchange(volume: KilledVolume, file: string, text: string): void {
  write(volume, 'new', text);
  fs.renameSync(path.join(volume.data, 'new'), path.join(volume.data, file));
}

suite('after a kill during the change of a delivered file,', () => {
  for (const [how, put] of [
    ['in place', write],
    ['by another file', exchange],
  ] as const) {
    test(`a change of the gateway made ${how} is drift, as it is without a kill, and not a foreign file`, async (t) => {
      await atEachKill(t, { before: OURS, wanted: { a: '2', b: '1' } }, async (volume) => {
        put(volume, 'a', 'x');
        await volume.sync({ a: '2', b: '1' }, { onConflict: 'refuse' });
        assert.deepEqual(volume.contents(), { a: '2', b: '1' });
        assert.deepEqual(
          volume.own('taken-over').filter((text) => text !== 'x'),
          [],
        );
      });
    });

    test(`a change of the gateway made ${how} stays if drift is reported and the file is no longer mapped`, async (t) => {
      await atEachKill(t, { before: OURS, wanted: { a: '2', b: '1' } }, async (volume) => {
        put(volume, 'a', 'x');
        await volume.sync({ b: '1' }, { onConflict: 'refuse', drift: 'report' });
        assert.deepEqual(volume.contents(), { a: 'x', b: '1' });
      });
    });
  }

  test('the file under prune: false is as before or as after, and stays owned', async (t) => {
    await atEachKill(t, { before: OURS, wanted: { a: '2', b: '1' } }, async (volume) => {
      await volume.sync({ b: '1' }, { prune: false });
      const { a = '' } = volume.contents();
      assert.ok(['1', '2'].includes(a), a);
      assert.equal(await volume.owns('a'), true);
      await volume.sync({ b: '1' });
      assert.deepEqual(volume.contents(), { b: '1' });
    });
  });

  test('a changed file that is no longer mapped is kept once', async (t) => {
    await atEachKill(t, { before: OURS, edited: { a: 'x' }, wanted: { b: '1' } }, async (volume) => {
      await volume.sync({ b: '1' });
      assert.deepEqual([volume.contents(), volume.own('taken-over')], [{ b: '1' }, ['x']]);
    });
  });

  test('a file that appears where the old one was about to go is a foreign file', async (t) => {
    await atEachKill(t, { before: OURS, wanted: { b: '1' } }, async (volume) => {
      const isGone = volume.contents().a === undefined;
      if (isGone) write(volume, 'a', 'theirs');
      await volume.sync({ b: '1' });
      assert.deepEqual(volume.contents(), isGone ? { a: 'theirs', b: '1' } : { b: '1' });
    });
  });

  test('a file that appears where the new one was about to go is a foreign file', async (t) => {
    await atEachKill(t, { before: { b: '1' }, wanted: { a: '2', b: '1' } }, async (volume) => {
      const isMissing = volume.contents().a === undefined;
      if (isMissing) write(volume, 'a', 'theirs');
      await volume.sync({ b: '1' });
      assert.deepEqual(volume.contents(), isMissing ? { a: 'theirs', b: '1' } : { b: '1' });
    });
  });
});

test('an interrupted takeover leaves the file to its owner, or keeps it, and makes no copy of it', async (t) => {
  await atEachKill(t, { theirs: { a: 'theirs' }, before: { b: '1' }, wanted: { a: '1', b: '1' } }, async (volume) => {
    await volume.sync({ b: '1' });
    const { a, ...others } = volume.contents();
    assert.deepEqual([others, a === undefined ? volume.own('taken-over') : [a]], [{ b: '1' }, ['theirs']]);
    assert.ok(a === undefined || volume.own('taken-over').length === 0, 'there is a copy');
  });
});

suite("anything that the gateway puts into the agent's own directories", () => {
  for (const fileSystem of FILE_SYSTEMS) {
    for (const name of ['staging', 'saved', 'taken-over']) {
      test(`blocks no sync: ${name}, ${JSON.stringify(fileSystem)}`, async (t) => {
        const volume = await KilledVolume.create(t);
        await volume.empty(fileSystem);
        write(volume, 'c', 'theirs');
        await volume.sync({ a: '1', b: '1', c: '1' });
        const texts = Array.from({ length: 6 }, (_, n) => `theirs ${n}`);
        for (const [n, text] of texts.entries()) write(volume, `.sync-agent/${name}/${n}`, text);
        await volume.sync({ a: '2' });
        assert.deepEqual(volume.contents(), { a: '2' });
        const kept = volume.own('taken-over').filter((text) => texts.includes(text));
        assert.deepEqual(kept, name === 'staging' ? [] : texts, 'staging alone is emptied');
      });
    }
  }
});
