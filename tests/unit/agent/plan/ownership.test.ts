import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Drift, RepairCounts } from '../../../../agent/plan/drift.ts';
import { driftOf } from '../../../../agent/plan/drift-of.ts';
import { emptyManifest, type OwnedFile } from '../../../../agent/plan/manifest.ts';
import { displacedName } from '../../../../agent/plan/next-manifest.ts';
import { filesToPreview, type Plan } from '../../../../agent/plan/plan-changes.ts';
import type { LiveEntry, PlanInput, PlanSettings } from '../../../../agent/plan/plan-input.ts';
import { countDrift, countFiles, describeChanges } from '../../../../agent/plan/summarize-plan.ts';
import { desiredFiles, MemoryVolume, SETTINGS } from '../support/memory-volume.ts';

type Files = Record<string, string>;
const CASELESS = { case: true, unicode: false };

const plan = (
  volume: MemoryVolume,
  files: Files,
  { retained = [] as string[], ...more }: Partial<PlanInput> & { retained?: string[] } = {},
) => {
  const result = volume.plan(desiredFiles(files, retained), more);
  return result.kind === 'plan' ? result.plan : assert.fail(result.problems.join('; '));
};
const refusal = (volume: MemoryVolume, files: Files, more: Partial<PlanInput> = {}) => {
  const result = volume.plan(desiredFiles(files), more);
  return result.kind === 'refused' ? `${result.reason}: ${result.problems.join('; ')}` : assert.fail('was not refused');
};
const settings = (more: Partial<PlanSettings>) => ({ settings: { ...SETTINGS, ...more } });
const describe = ({ changes }: Plan) => changes.map(({ kind, path, reason }) => `${kind} ${path} ${reason}`);

function volumeWith({ theirs = {}, ours = {} }: { theirs?: Files; ours?: Files }): MemoryVolume {
  const volume = new MemoryVolume();
  for (const [path, content] of Object.entries(theirs)) volume.write(path, content);
  volume.apply(plan(volume, ours));
  return volume;
}

suite('what was there before', () => {
  test('with the same content it is not written, and stays when nothing asks for it any more', () => {
    const volume = volumeWith({ theirs: { a: '1' }, ours: { a: '1', b: '1' } });
    assert.equal(volume.manifest.files.get('a')?.found, true);
    assert.deepEqual(describe(plan(volume, { a: '1', b: '1' })), []);
    assert.deepEqual(plan(volume, { a: '1', b: '1' }).corrected, []);
    volume.apply(plan(volume, { b: '1' }));
    assert.deepEqual(volume.contents(), { a: '1', b: '1' });
    assert.deepEqual([...volume.manifest.files.keys()], ['b']);
  });

  test('with other content it is kept, and comes back when nothing asks for it any more', () => {
    const volume = volumeWith({ theirs: { a: 'theirs' }, ours: { a: '1', b: '1' } });
    assert.deepEqual(volume.contents(), { a: '1', b: '1' });
    volume.apply(plan(volume, { a: '2', b: '1' }));
    const unmapped = plan(volume, { b: '1' });
    assert.deepEqual(describe(unmapped), ['restore a NoLongerMapped']);
    volume.apply(unmapped);
    assert.deepEqual(volume.contents(), { a: 'theirs', b: '1' });
    assert.deepEqual([...volume.takenOver], []);
  });

  test('it is taken over as well when a commit changes what was found to be right', () => {
    const volume = volumeWith({ theirs: { a: '1' }, ours: { a: '1', b: '1' } });
    const next = plan(volume, { a: '2', b: '1' });
    assert.deepEqual(describe(next), ['modify a TakenOver']);
    volume.apply(next);
    volume.apply(plan(volume, { b: '1' }));
    assert.deepEqual(volume.contents(), { a: '1', b: '1' });
  });

  test('a mode that is not right is a difference, too', () => {
    const volume = volumeWith({ theirs: { a: '#!x' } });
    const file = { path: 'a', source: 'a', blob: '#!x', executable: true, template: false };
    volume.write('a', '#!x', false);
    const result = volume.plan({ files: new Map([['a', file]]), folders: new Set(), retained: new Set() });
    assert.deepEqual(result.kind === 'plan' && describe(result.plan), ['modify a TakenOver']);
    const desired = { files: new Map([['a', file]]), folders: new Set<string>(), retained: new Set<string>() };
    const refused = volume.plan(desired, settings({ onConflict: 'refuse' }));
    assert.match(refused.kind === 'refused' ? refused.problems.join() : '', /with other content or another mode \(/);
  });

  test('onConflict: refuse names every file that is in the way, and lets what is right be', () => {
    const volume = volumeWith({ theirs: { a: 'theirs', b: '1', c: 'theirs' } });
    const refused = refusal(volume, { a: '1', b: '1', c: '1' }, settings({ onConflict: 'refuse' }));
    assert.match(refused, /^PathConflict: a is a file .* \(onConflict: refuse\).*; c is a file/);
    assert.deepEqual(describe(plan(volume, { b: '1' }, settings({ onConflict: 'refuse' }))), []);
  });

  test('it stands where a folder is needed: that is refused', () => {
    const volume = volumeWith({ theirs: { a: 'theirs' }, ours: { a: '1' } });
    assert.match(refusal(volume, { 'a/b': '1' }), /^PathConflict: a is a file/);
  });

  test('no more is kept than has room', () => {
    const volume = volumeWith({ theirs: { a: 'x' }, ours: {} });
    const file = volume.manifest.files;
    file.set('large', {
      ...{ path: 'large', source: 'large', blob: '1', sha256: 'sha256 of 1', executable: false },
      fingerprint: { size: 1, mtimeMs: 0, ino: 99 },
      displaced: { name: 'k', size: 1024 ** 3 },
    });
    volume.write('large', '1');
    assert.match(refusal(volume, { a: '1', large: '1' }), /^TakenOverFull: 2 files of other people, with 1025 MiB/);
  });
});

suite('a plan that would leave nothing', () => {
  test('is refused, unless it is allowed', () => {
    const volume = volumeWith({ ours: { a: '1', b: '1' } });
    assert.match(
      refusal(volume, {}, settings({ allowEmpty: false })),
      /^NothingLeft: .* all 2 files .*allowEmpty: true/,
    );
    assert.deepEqual(describe(plan(volume, {})), ['delete a NoLongerMapped', 'delete b NoLongerMapped']);
    const one = volumeWith({ ours: { a: '1' } });
    assert.match(refusal(one, {}, settings({ allowEmpty: false })), /^NothingLeft: .* all 1 files/);
    const last = plan(volume, { a: '1' }, settings({ allowEmpty: false }));
    assert.deepEqual(describe(last), ['delete b NoLongerMapped'], 'one file is left');
  });

  test('is none where an optional source keeps files, where nothing was owned, or where nothing is pruned', () => {
    const strict = settings({ allowEmpty: false });
    const volume = volumeWith({ ours: { a: '1', b: '1' } });
    assert.deepEqual(describe(plan(volume, {}, { ...strict, retained: ['a'] })), ['delete b NoLongerMapped']);
    assert.deepEqual(describe(plan(new MemoryVolume(), {}, strict)), []);
    assert.deepEqual(describe(plan(volume, {}, settings({ allowEmpty: false, prune: false }))), []);
  });
});

suite('prune: false', () => {
  const kept = settings({ prune: false });

  test('deletes nothing, and goes on owning it: with prune it goes', () => {
    const volume = volumeWith({ ours: { a: '1', 'd/b': '1' } });
    volume.apply(plan(volume, { a: '2' }, kept));
    assert.deepEqual(volume.contents(), { a: '2', 'd/b': '1' });
    volume.apply(plan(volume, { a: '2' }));
    assert.deepEqual([volume.contents(), [...volume.folders]], [{ a: '2' }, []]);
  });

  test('refuses what needs the room of a file or a folder', () => {
    assert.match(refusal(volumeWith({ ours: { a: '1' } }), { 'a/b': '1' }, kept), /^PathConflict: a is a file/);
    assert.match(refusal(volumeWith({ ours: { 'a/b': '1' } }), { a: '1' }, kept), /^PathConflict: a is a folder/);
  });
});

suite('drift', () => {
  const drifted = () => {
    const volume = volumeWith({ ours: { a: '1', b: '1', 'd/c': '1', ok: '1' } });
    volume.write('a', 'x');
    volume.files.delete('b');
    volume.files.delete('d/c');
    volume.folders.delete('d');
    return volume;
  };
  const desired = { a: '1', b: '1', 'd/c': '1', ok: '1' };
  const listed = (isRepaired: boolean): Drift[] => [
    { path: 'a', reason: 'Drifted', isRepaired },
    { path: 'b', reason: 'Missing', isRepaired },
    { path: 'd/c', reason: 'Missing', isRepaired },
  ];

  test('repair puts it right, and lists it', () => {
    const repair = plan(drifted(), desired);
    assert.deepEqual(describe(repair), ['modify a Drifted', 'add b Missing', 'add d/c Missing']);
    assert.deepEqual(repair.drift, listed(true));
  });

  test('report lists it and changes nothing, ignore does not even list it', () => {
    const report = plan(drifted(), desired, settings({ drift: 'report' }));
    assert.deepEqual([describe(report), report.folders.create, report.drift], [[], [], listed(false)]);
    const ignore = plan(drifted(), desired, settings({ drift: 'ignore' }));
    assert.deepEqual([describe(ignore), ignore.folders.create, ignore.drift], [[], [], []]);
  });

  test('a commit that changes such a file delivers it', () => {
    const next = plan(drifted(), { ...desired, a: '2', b: '2' }, settings({ drift: 'report' }));
    assert.deepEqual(describe(next), ['modify a ContentChanged', 'add b Missing']);
  });

  test('where it is not repaired, a changed file that is no longer mapped stays', () => {
    const volume = drifted();
    volume.apply(plan(volume, { ok: '1' }, settings({ drift: 'ignore' })));
    assert.deepEqual(volume.contents(), { a: 'x', ok: '1' });
  });

  test('a file that was put right three times in a row is told, and left', () => {
    const volume = volumeWith({ ours: { a: '1' } });
    const repairs = new RepairCounts();
    const look = (isDrifted: boolean) => {
      if (isDrifted) volume.write('a', 'x');
      const next = plan(volume, { a: '1' }, { repairs });
      volume.apply(next);
      repairs.onLook(next.drift);
      return next.drift.map(({ isRepaired }) => isRepaired);
    };
    assert.deepEqual([look(true), look(true), look(false)], [[true], [true], []]);
    assert.deepEqual([look(true), look(true), look(true), look(true)], [[true], [true], [true], [false]]);
    assert.deepEqual(look(true), [false]);
    assert.deepEqual(volume.contents(), { a: 'x' });
    volume.write('a', '1');
    assert.deepEqual([look(false), look(true)], [[], [true]]);
  });
});

suite('what differs from what was delivered', () => {
  const record: OwnedFile = {
    ...{ path: 'a', source: 'a', blob: '1', sha256: 's', executable: true },
    fingerprint: { size: 1, mtimeMs: 1, ino: 1 },
  };
  const file = (sha256: string, executable: boolean): LiveEntry => ({
    ...{ kind: 'file', sha256, executable, blob: undefined, fingerprint: { size: 2, mtimeMs: 2, ino: 2 } },
  });
  for (const [what, entry, reason] of [
    ['nothing where it is there as it was', file('s', true), undefined],
    ['one that is gone', undefined, 'Missing'],
    ['one with other content', file('t', true), 'Drifted'],
    ['one with another mode', file('s', false), 'ModeChanged'],
    ['one with other content and another mode', file('t', false), 'Drifted'],
    ['a folder in its place', { kind: 'folder' }, 'Drifted'],
    ['a link in its place', { kind: 'link' }, 'Drifted'],
  ] as const) {
    test(`is ${what}, with what is there now`, () => {
      const manifest = { ...emptyManifest(), files: new Map([['a', record]]) };
      const live = new Map(entry ? [['a', entry]] : []);
      assert.deepEqual(driftOf(manifest, live), reason ? [{ record, reason, live: entry }] : []);
    });
  }
});

suite('a plan in short', () => {
  const { changes, ...rest } = plan(new MemoryVolume(), { a: '1', b: '2' });
  const [add] = changes;
  const kinds = ['add', 'add', 'modify', 'delete', 'restore', 'delete', 'delete'] as const;
  const many = { ...rest, changes: kinds.map((kind, index) => ({ ...add, kind, path: `p${index}` })), unchanged: 5 };

  test('counts files, those that come back as modified', () => {
    assert.deepEqual(countFiles(many as Plan), { added: 2, modified: 2, deleted: 3, unchanged: 5 });
    const drift = [true, false, true].map((isRepaired) => ({ path: 'a', reason: 'Drifted' as const, isRepaired }));
    assert.equal(countDrift({ ...rest, changes, drift }), 2);
  });

  test('counts what stays: what is right, what was not looked at, and what is kept', () => {
    const volume = volumeWith({ ours: { a: '1', b: '1', c: '1' } });
    const next = plan(volume, { a: '1', b: '1', d: '1' }, { retained: ['c'], untouched: 5 });
    assert.deepEqual([next.unchanged, next.isPartial], [8, false]);
    assert.equal(plan(volume, { a: '1' }, { isPartial: true }).isPartial, true);
  });

  test('names the first changes, the end of a long path', () => {
    assert.deepEqual(describeChanges(many as Plan, 3), ['add p0 (New)', 'add p1 (New)', 'modify p2 (New)']);
    const [long = ''] = describeChanges(plan(new MemoryVolume(), { ['x/'.repeat(2_000).concat('end')]: '1' }), 1);
    assert.deepEqual([long.length, long.slice(-9)], [1024, 'end (New)']);
  });

  test('names for a dry run all files that would be written, else those that may be right already', () => {
    const written = { path: 'p', source: 'p', blob: '1', executable: false, template: false };
    const template = { ...written, template: true };
    const patched = { ...written, patches: { steps: [], hash: 'h' } };
    const all = [written, template, patched].flatMap((file) =>
      (
        ['New', 'TakenOver', 'ContentChanged', 'ValuesChanged', 'PatchesChanged', 'Drifted', 'ModeChanged'] as const
      ).map((reason) => ({
        ...{ kind: 'modify' as const, path: `${reason}`, reason, file },
        was: { kind: 'link' as const },
      })),
    );
    const gone = { ...add, kind: 'delete', file: undefined };
    const { file: _, ...deleted } = gone;
    const given = { ...rest, changes: [...all, deleted] } as Plan;
    assert.equal(filesToPreview(given, true).length, all.length);
    const guessed = all.filter(
      ({ file, reason }) => file !== written && !['New', 'Drifted', 'ModeChanged'].includes(reason),
    );
    assert.deepEqual(
      filesToPreview(given, false),
      guessed.map(({ file }) => file),
    );
  });

  test('has names for what was there that tell paths and numbers apart, and that any volume takes', () => {
    const name = displacedName('d/sub dir/a b.json', 1);
    assert.match(name, /^[0-9a-f]{16}-a_b\.json\.kept$/);
    assert.equal(displacedName('d/sub dir/a b.json', 2), name.replace('-', '-2-'));
    assert.notEqual(displacedName('e/a b.json', 1), name);
    assert.match(displacedName('x'.repeat(300), 1), /^[0-9a-f]{16}-x{100}\.kept$/);
    assert.match(displacedName('é', 1), /^[0-9a-f]{16}-_\.kept$/);
  });
});

suite('a volume that does not tell case apart', () => {
  test('refuses names that would be one, and the folder of the agent, before anything is written', () => {
    const folding = CASELESS;
    const volume = new MemoryVolume();
    assert.match(
      refusal(volume, { 'x/Name': '1', 'x/name': '2' }, { folding }),
      /^NameCollision: x\/name and x\/Name are one/,
    );
    assert.match(refusal(volume, { 'A/x': '1', 'a/y': '2' }, { folding }), /^NameCollision: a and A are one/);
    assert.match(
      refusal(volume, { '.Sync-Agent/x': '1' }, { folding }),
      /^NameCollision: \.Sync-Agent and \.sync-agent/,
    );
    assert.match(refusal(volume, { straße: '1', STRASSE: '2' }, { folding }), /^NameCollision/);
    assert.deepEqual(describe(plan(volume, { 'x/Name': '1', 'x/name': '2' })).length, 2);
  });

  test('of ASCII letters: names that differ in others stay two', () => {
    const folding = { case: 'ascii', unicode: false } as const;
    assert.match(
      refusal(new MemoryVolume(), { README: '1', readme: '2' }, { folding }),
      /^NameCollision: readme and README are one name on this volume, which does not tell names apart by case/,
    );
    const others = { Äpfel: '1', äpfel: '2', straße: '1', STRASSE: '2' };
    assert.equal(plan(new MemoryVolume(), others, { folding }).changes.length, 4);
    const volume = volumeWith({ ours: { name: '1' } });
    assert.deepEqual(describe(plan(volume, { Name: '1' }, { folding })), [
      'delete name NoLongerMapped',
      'add Name New',
    ]);
  });

  test('a volume that folds the normal form of Unicode takes two forms of a name for one file', () => {
    const [composed, decomposed] = ['é'.normalize('NFC'), 'é'.normalize('NFD')];
    const folding = { case: false, unicode: true };
    assert.match(
      refusal(new MemoryVolume(), { [composed]: '1', [decomposed]: '2' }, { folding }),
      /normal form of Unicode/,
    );
  });

  test('renames a file by case alone: the old name goes first', () => {
    const volume = volumeWith({ ours: { name: '1', other: '1' } });
    const next = plan(volume, { Name: '1', other: '1' }, { folding: CASELESS });
    assert.deepEqual(describe(next), ['delete name NoLongerMapped', 'add Name New']);
  });
});

suite('what the pod mounts inside of the data volume', () => {
  const mounts = ['data/cache', 'logs'];
  const problem = (path: string, point: string) =>
    `PathConflict: the gateway's pod mounts another volume at ${point} in the data volume, so ${path} cannot be delivered: map it to another place, or exclude it`;

  for (const [path, point] of [
    ['data/cache', 'data/cache'],
    ['data/cache/x/y', 'data/cache'],
    ['data', 'data/cache'],
    ['logs', 'logs'],
  ] as const) {
    test(`takes no file: ${path}`, () => {
      assert.equal(refusal(new MemoryVolume(), { [path]: '1' }, { mounts }), problem(path, point));
    });
  }

  test('is named once, and by its own name also where case does not count', () => {
    const files = { 'data/cache/x': '1', 'data/cache/y': '1', 'logs/z': '1' };
    const told = refusal(new MemoryVolume(), files, { mounts });
    const [first, second] = [problem('data/cache/x', 'data/cache'), problem('logs/z', 'logs')];
    assert.equal(told, `${first}; ${second.replace('PathConflict: ', '')}`);
    const other = { mounts: ['Data/Cache'], folding: CASELESS };
    assert.equal(refusal(new MemoryVolume(), { 'data/cache/x': '1' }, other), problem('data/cache/x', 'Data/Cache'));
    assert.deepEqual(describe(plan(new MemoryVolume(), { 'data/cache/x': '1' }, { mounts: ['Data/Cache'] })).length, 1);
  });

  test('does not concern names that only begin so', () => {
    const next = plan(new MemoryVolume(), { 'data/cached': '1', log: '1', 'x/logs': '1' }, { mounts });
    assert.equal(next.changes.length, 3);
  });

  test('is left alone with the folders that it lies in, and what was there before is owned no longer', () => {
    const volume = volumeWith({ ours: { 'data/cache/x': '1', 'data/own/x': '1', b: '1' } });
    const next = plan(volume, { b: '1' }, { mounts });
    assert.deepEqual(describe(next), ['delete data/own/x NoLongerMapped']);
    assert.deepEqual(next.disowned, ['data/cache/x', 'data/own/x']);
    assert.deepEqual(next.folders.prune, ['data/own']);
  });
});

test('files that the group may write are written anew where they were not, and the other way round', () => {
  const volume = volumeWith({ ours: { a: '1' } });
  const wide = plan(volume, { a: '1' }, settings({ groupWrite: true }));
  assert.deepEqual(describe(wide), ['modify a ModeChanged']);
  const record = volume.manifest.files.get('a') ?? assert.fail();
  volume.manifest.files.set('a', { ...record, groupWrite: true });
  assert.deepEqual(describe(plan(volume, { a: '1' }, settings({ groupWrite: true }))), []);
  assert.deepEqual(describe(plan(volume, { a: '1' })), ['modify a ModeChanged']);
});
