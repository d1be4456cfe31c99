import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { codeOf } from '../../../../shared/errors.ts';
import { byDepth } from '../../../support/depth.ts';
import { fc } from '../../../support/property.ts';
import { type FileSystem, type Files, KilledVolume } from '../support/killed-volume.ts';
import { withoutOverlaps } from '../support/without-overlaps.ts';

const numRuns = byDepth(20, 200, 2_000);

/** About as many calls as a sync of a few files makes, and as the one that undoes it makes first. */
const CALLS = { sync: 60, undo: 20 };

const fileSystem: fc.Arbitrary<FileSystem> = fc.record({ hasLinks: fc.boolean(), keepsInodes: fc.boolean() });

suite('for any trees, and kills at any calls of several syncs,', () => {
  test('all foreign files are at their paths or kept in the end', loseNothing);

  test('atomic destinations lose no foreign file, and have the wanted files in the end', exchangeTrees);

  test('the next commit is delivered in the end, and nothing else', bringNextCommit);
});

/** Several syncs are killed, and others write files in between: none of those is lost. */
async function loseNothing(t: TestContext): Promise<void> {
  const volume = await KilledVolume.create(t);
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const theirFiles = fc.dictionary(name, fc.constantFrom('1', '2', '3'), { maxKeys: 4, noNullPrototype: true });
  const ourFiles = fc.dictionary(name, fc.constantFrom('1', '2', '3', 'ours'), { maxKeys: 4, noNullPrototype: true });
  const round = fc.record({
    wanted: ourFiles,
    killAt: fc.integer({ min: 1, max: CALLS.sync }),
    drift: fc.constantFrom('repair', 'report', 'ignore'),
    prune: fc.boolean(),
    written: fc.option(name),
  });
  const rounds = fc.array(round, { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(theirFiles, ourFiles, rounds, fileSystem, async (before, first, later, system) => {
      await volume.empty(system);
      const theirs: Files = { ...before };
      const write = (file: string, text: string) => fs.writeFileSync(path.join(volume.data, file), text);
      for (const [file, text] of Object.entries(theirs)) write(file, text);
      await volume.sync(first);
      for (const [index, { wanted, killAt, drift, prune, written }] of later.entries()) {
        await volume.sync(wanted, { drift, prune }, killAt);
        const live = volume.contents();
        const spare = [...volume.own('saved'), ...volume.own('taken-over')];
        for (const [file, text] of Object.entries(theirs)) {
          assert.ok(live[file] === text || spare.includes(text), `${file} of others is lost`);
        }
        if (!written || written in theirs || written in live || (await volume.owns(written))) continue;
        theirs[written] = `of round ${index}`;
        write(written, `of round ${index}`);
      }
      /** Those of others that are at their paths; all others must be kept. */
      const left = () => {
        const live = volume.contents();
        const kept = volume.own('taken-over');
        return Object.fromEntries(
          Object.entries(theirs).filter(([file, text]) => live[file] === text || !kept.includes(text)),
        );
      };
      const { wanted } = later.at(-1) ?? { wanted: first };
      await volume.sync(wanted, { drift: 'report' });
      assert.deepEqual(volume.contents(), sorted({ ...left(), ...wanted }), 'what a kill left is no drift');
      await volume.sync({});
      assert.deepEqual(volume.contents(), sorted(left()));
      // A kill can leave a copy of a file that exists elsewhere, but never a file of the agent.
      for (const text of volume.own('taken-over')) assert.ok(Object.values(theirs).includes(text), text);
      assert.deepEqual([volume.own('saved'), volume.own('staging'), volume.hasJournal], [[], [], false]);
    }),
    { numRuns },
  );
  assert.ok(volume.kills > numRuns / byDepth(10, 2), `only ${volume.kills} kills`);
}

/** A sync is killed, then the one that undoes it, and a third one delivers another commit: only its files exist. */
async function bringNextCommit(t: TestContext): Promise<void> {
  const volume = await KilledVolume.create(t);
  const name = fc.constantFrom('a', 'b', 'c');
  const file = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  /** No file has a path that another one needs as a directory. */
  const tree = fc.dictionary(file, fc.constantFrom('1', '2', '3'), { maxKeys: 8 }).map(withoutOverlaps);
  const killAt = fc.integer({ min: 1, max: 2 * CALLS.sync });
  const killAgainAt = fc.integer({ min: 1, max: CALLS.undo });
  await fc.assert(
    fc.asyncProperty(
      ...[tree, tree, tree, killAt, killAgainAt, fileSystem],
      async (first, second, third, killAt, killAgainAt, system) => {
        await volume.empty(system);
        fs.writeFileSync(path.join(volume.data, 'theirs'), 'theirs');
        await volume.sync(first);
        await volume.sync(second, {}, killAt);
        await volume.sync(second, {}, killAgainAt);
        await volume.sync(third);
        assert.deepEqual(volume.contents(), sorted({ ...third, theirs: 'theirs' }));
        await volume.sync({});
        assert.deepEqual(volume.contents(), { theirs: 'theirs' });
        const left = volume.directories().map((directory) => path.relative(volume.data, directory));
        assert.deepEqual(
          left.filter((directory) => !directory.startsWith('.sync-agent')),
          [],
        );
        assert.deepEqual([volume.own('taken-over'), volume.own('saved'), volume.own('staging')], [[], [], []]);
      },
    ),
    { numRuns },
  );
  assert.ok(volume.kills > numRuns / byDepth(10, 2), `only ${volume.kills} kills`);
}

/**
 * Several syncs are killed while destinations become trees and directories again, and others write files: none of these
 * is lost, and in the end only the wanted files are there.
 */
async function exchangeTrees(t: TestContext): Promise<void> {
  const volume = await KilledVolume.create(t);
  const file = fc.constantFrom('a', 't/a', 't/b', 't/c/a', 't/c/b', 'u/a', 'u/t/a');
  const wantedFiles = fc.dictionary(file, fc.constantFrom('1', '2'), { minKeys: 1, maxKeys: 6, noNullPrototype: true });
  const round = fc.record({
    wanted: wantedFiles,
    roots: fc.constantFrom<string[]>([], ['t'], ['t', 'u'], ['t/c'], ['u/t', 't']),
    killAt: fc.integer({ min: 1, max: 3 * CALLS.sync }),
    drift: fc.constantFrom('repair', 'report', 'ignore'),
    written: fc.option(fc.constantFrom('t', 't/c', 'u', 'u/t')),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 6 }), fc.boolean(), async (rounds, keepsInodes) => {
      await volume.empty({ hasLinks: true, keepsInodes });
      const theirs: string[] = [];
      for (const [index, { wanted, roots, killAt, drift, written }] of rounds.entries()) {
        volume.roots = roots;
        await syncAfterMoving(volume, wanted, { drift }, killAt);
        const everywhere = Object.values(volume.everything());
        for (const text of theirs) assert.ok(everywhere.includes(text), `${text} of others is lost`);
        const directory = path.join(volume.data, written ?? '-');
        if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) continue;
        fs.chmodSync(directory, 0o755);
        fs.writeFileSync(path.join(directory, `theirs-${index}`), `of round ${index}`);
        theirs.push(`of round ${index}`);
      }
      const { wanted, roots } = rounds.at(-1) as (typeof rounds)[number];
      await syncAfterMoving(volume, wanted);
      const live = volume.contents();
      for (const [name, text] of Object.entries(live)) {
        if (theirs.includes(text)) delete live[name];
      }
      assert.deepEqual(live, sorted(wanted));
      for (const root of roots) {
        const isLink = fs.lstatSync(path.join(volume.data, root), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
        const isInside = roots.some((other) => root.startsWith(`${other}/`));
        const isNeeded = Object.keys(wanted).some((name) => name.startsWith(`${root}/`));
        assert.equal(isLink, isNeeded && !isInside, root);
      }
      for (const text of volume.own('taken-over')) assert.ok(theirs.includes(text), `${text} of the agent is left`);
      assert.deepEqual([volume.own('saved'), volume.own('staging'), volume.own('building')], [[], [], []]);
    }),
    // Shrinking takes longer than the limit of a test, and the failure would be lost.
    { numRuns, endOnFailure: true },
  );
  assert.ok(volume.kills > numRuns / byDepth(10, 4), `only ${volume.kills} kills`);
}

/**
 * Moves the files of others away, and removes empty directories, as the messages say: a directory with such files is in
 * the place of a link to a tree, or, if an exchange was killed while it was undone, of one that the agent had removed.
 */
async function syncAfterMoving(volume: KilledVolume, ...sync: Parameters<KilledVolume['sync']>): Promise<void> {
  try {
    await volume.sync(...sync);
  } catch (error) {
    assert.equal(codeOf(error), 'sync.PathConflict');
    for (const file of Object.keys(volume.contents())) {
      const name = path.basename(file);
      if (name.startsWith('theirs-')) fs.renameSync(path.join(volume.data, file), path.join(volume.data, name));
    }
    const directories = volume.directories().filter((each) => !each.startsWith(path.join(volume.data, '.sync-agent')));
    for (const directory of directories.sort().reverse())
      if (fs.readdirSync(directory).length === 0) fs.rmdirSync(directory);
    await volume.sync(...sync);
  }
}

const sorted = (files: Files): Files => Object.fromEntries(Object.entries(files).sort());
