import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { directoriesOf } from '../../../../agent/plan/directories.ts';
import { fc, runs } from '../../../support/property.ts';
import { changesOf } from '../support/changes-of.ts';
import { desiredFiles, type MemoryVolume, planFor, refusal, volumeWith } from '../support/memory-volume.ts';
import { withoutOverlaps } from '../support/without-overlaps.ts';

type Files = Record<string, string>;

interface Case {
  name: string;
  /** Files delivered by earlier syncs. */
  before: Files;
  /** Later writes of others. */
  inBetween?: Files | undefined;
  desired: Files;
  changes: string[];
  after: Files;
}

const cases: Case[] = [
  {
    name: 'a file that was touched and not changed is right',
    before: { a: '1' },
    inBetween: { a: '1' },
    desired: { a: '1' },
    changes: [],
    after: { a: '1' },
  },
  {
    name: 'a file becomes a folder',
    before: { a: '1' },
    desired: { 'a/b': '1' },
    changes: ['delete a NoLongerMapped', 'add a/b New'],
    after: { 'a/b': '1' },
  },
  {
    name: 'a folder becomes a file',
    before: { 'a/b/c': '1', 'a/d': '1' },
    desired: { a: '1' },
    changes: ['delete a/b/c NoLongerMapped', 'delete a/d NoLongerMapped', 'add a New'],
    after: { a: '1' },
  },
];

const conflicts: (Omit<Case, 'changes' | 'after'> & { message: RegExp })[] = [
  {
    name: 'an own folder with a foreign file where a file is needed',
    before: { 'a/b': '1' },
    inBetween: { 'a/x': 'x' },
    desired: { a: '1' },
    message: /^PathConflict: a /,
  },
  {
    name: 'a foreign file in the place of an own folder',
    before: { 'a/b/c': '1', z: '1' },
    inBetween: { 'a/b': 'x' },
    desired: { 'a/b/c': '1', z: '1' },
    message: /^PathConflict: a\/b /,
  },
  {
    name: 'an own folder where a file is needed, with a foreign file in the place of an own folder',
    before: { 'a/b/c': '1', z: '1' },
    inBetween: { 'a/b': 'x' },
    desired: { a: '1', z: '1' },
    message: /^PathConflict: a /,
  },
];

function prepare({ before, inBetween = {} }: Pick<Case, 'before' | 'inBetween'>): MemoryVolume {
  const volume = volumeWith({ ours: before });
  for (const [path, content] of Object.entries(inBetween)) volume.write(path, content);
  return volume;
}

suite('planChanges', () => {
  for (const { name, before, inBetween, desired, changes, after } of cases) {
    test(name, () => {
      const volume = prepare({ before, inBetween });
      const plan = planFor(volume, desired);
      assert.deepEqual(changesOf(plan), changes);
      volume.apply(plan);
      assert.deepEqual(volume.contents(), after);
    });
  }

  for (const { name, before, inBetween, desired, message } of conflicts) {
    test(`rejects ${name}`, () => {
      assert.match(refusal(prepare({ before, inBetween }), desired), message);
    });
  }

  test('treats a different mode as a change', () => {
    const volume = prepare({ before: { a: '#!x' } });
    const file = { path: 'a', source: 'a', blob: '#!x', executable: false, template: false };
    const result = volume.plan({ files: new Map([['a', file]]), directories: new Set(), retained: new Set() });
    assert.ok(result.kind === 'plan');
    assert.deepEqual(changesOf(result.plan), ['modify a ModeChanged']);
  });

  test('removes its own directories with their last file, and no others', () => {
    const volume = volumeWith({ theirs: { 'theirs/x': 'x' }, ours: { 'theirs/deep/a': '1', 'ours/deep/a': '1' } });
    volume.files.delete('theirs/x');
    volume.apply(planFor(volume, {}));
    assert.deepEqual([...volume.directories], ['theirs']);
  });
});

const name = fc.constantFrom('a', 'b', 'c');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const content = fc.constantFrom('1', '2', '#!run');
/** No file has a path that another one needs as a directory. */
const tree = fc.dictionary(path, content, { maxKeys: 8 }).map(withoutOverlaps);
const foreign = fc.dictionary(
  path.map((file) => `${file}/foreign`),
  fc.constant('foreign'),
  { maxKeys: 3 },
);

suite('planChanges, for any two trees,', () => {
  test('leads to the desired tree, keeps foreign files, and then finds nothing to do', () => {
    fc.assert(
      fc.property(tree, foreign, tree, fc.option(path), (first, others, second, exchanged) => {
        const volume = volumeWith({ ours: first });
        for (const [file, text] of Object.entries(others)) {
          if (!directoriesOf(file).some((directory) => volume.files.has(directory))) volume.write(file, text);
        }
        if (exchanged && volume.directories.has(exchanged) && !(exchanged in second))
          volume.write(exchanged, 'foreign');
        const theirs = Object.entries(volume.contents()).filter(([, text]) => text === 'foreign');
        const result = volume.plan(desiredFiles(second));
        if (result.kind === 'refused') return;
        volume.apply(result.plan);
        assert.deepEqual(volume.contents(), Object.fromEntries([...Object.entries(second), ...theirs].sort()));
        const again = planFor(volume, second);
        assert.deepEqual([changesOf(again), again.corrected, again.disowned], [[], [], []]);
      }),
      { numRuns: runs(500) },
    );
  });
});
