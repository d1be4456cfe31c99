import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { driftOf } from '../../../../agent/inspection/drift-of.ts';
import { type Drift, RepairCounts } from '../../../../agent/plan/drift.ts';
import { emptyManifest } from '../../../../agent/plan/manifest.ts';
import { almostFull } from '../../../../agent/plan/overflow.ts';
import { type Change, filesToPreview, type Plan } from '../../../../agent/plan/plan-changes.ts';
import type { LiveEntry } from '../../../../agent/plan/plan-input.ts';
import { countDrift, countFiles, describeChange, describeChanges } from '../../../../agent/plan/summarize-plan.ts';
import { syncReportStatusSchema } from '../../../../shared/api/sync-report.ts';
import { changesOf } from '../support/changes-of.ts';
import { MemoryVolume, ownedFile, planFor, refusal, volumeWith } from '../support/memory-volume.ts';

const CASELESS = { case: true, unicode: false };

/** Why an empty volume can't have these files. */
const refusalOf = (files: Record<string, string>, given: Parameters<typeof refusal>[2]) =>
  refusal(new MemoryVolume(), files, given);

suite('a file that was there before', () => {
  test("isn't written if its content is the same, and stays when it is no longer mapped", () => {
    const volume = volumeWith({ theirs: { a: '1' }, ours: { a: '1', b: '1' } });
    assert.equal(volume.manifest.files.get('a')?.found, true);
    assert.deepEqual(changesOf(planFor(volume, { a: '1', b: '1' })), []);
    assert.deepEqual(planFor(volume, { a: '1', b: '1' }).corrected, []);
    volume.apply(planFor(volume, { b: '1' }));
    assert.deepEqual(volume.contents(), { a: '1', b: '1' });
    assert.deepEqual([...volume.manifest.files.keys()], ['b']);
  });

  test('is kept if its content differs, also when it is no longer mapped', () => {
    const volume = volumeWith({ theirs: { a: 'theirs' }, ours: { a: '1', b: '1' } });
    assert.deepEqual(volume.contents(), { a: '1', b: '1' });
    volume.apply(planFor(volume, { a: '2', b: '1' }));
    const unmapped = planFor(volume, { b: '1' });
    assert.deepEqual(changesOf(unmapped), ['delete a NoLongerMapped']);
    volume.apply(unmapped);
    assert.deepEqual(volume.contents(), { b: '1' });
    assert.deepEqual([...volume.takenOver.keys()], ['a']);
  });

  test('is also taken over when a commit changes a file that was right before', () => {
    const volume = volumeWith({ theirs: { a: '1' }, ours: { a: '1', b: '1' } });
    const next = planFor(volume, { a: '2', b: '1' });
    assert.deepEqual(changesOf(next), ['modify a TakenOver']);
    volume.apply(next);
    assert.deepEqual([...volume.takenOver.keys()], ['a']);
  });

  test('counts as different if only its mode is wrong', () => {
    const volume = volumeWith({ theirs: { a: '#!x' } });
    const file = { path: 'a', source: 'a', blob: '#!x', executable: true, template: false };
    volume.write('a', '#!x', false);
    const result = volume.plan({ files: new Map([['a', file]]), directories: new Set(), retained: new Set() });
    assert.deepEqual(result.kind === 'plan' && changesOf(result.plan), ['modify a TakenOver']);
  });

  test('is listed under onConflict: refuse if it is in the way, and unchanged if it is right', () => {
    const volume = volumeWith({ theirs: { a: 'theirs', b: '1', c: 'theirs' } });
    const refused = refusal(volume, { a: '1', b: '1', c: '1' }, { settings: { onConflict: 'refuse' } });
    assert.match(refused, /^PathConflict: a exists .* \(onConflict: refuse\).*; c exists/);
    assert.deepEqual(changesOf(planFor(volume, { b: '1' }, { settings: { onConflict: 'refuse' } })), []);
  });

  test("doesn't block a directory in its place once it was taken over", () => {
    const volume = volumeWith({ theirs: { a: 'theirs' }, ours: { a: '1' } });
    const next = planFor(volume, { 'a/b': '1' });
    assert.deepEqual(changesOf(next), ['delete a NoLongerMapped', 'add a/b New']);
  });

  for (const [what, before] of [
    ['files', { entries: 10_000, bytes: 0 }],
    ['bytes', { entries: 1, bytes: 1024 ** 3 }],
  ] as const) {
    test(`is an error if too many ${what} would be kept, which only affects takeovers`, () => {
      const volume = volumeWith({ theirs: { a: 'x' }, ours: { b: '1' } });
      const takenOver = { path: 'state/taken-over', names: [], ...before };
      assert.match(refusal(volume, { a: '1', b: '1' }, { takenOver }), /^TakenOverFull: .* rm -r state\/taken-over/);
      const next = planFor(volume, { b: '2' }, { takenOver });
      assert.deepEqual(changesOf(next), ['modify b ContentChanged']);
      assert.match(almostFull(takenOver) ?? '', / rm -r state\/taken-over$/);
      const { entries, bytes } = before;
      const less = { ...takenOver, entries: entries * 0.79, bytes: bytes * 0.79 };
      assert.equal(almostFull(less), undefined);
      const oneLess = { ...takenOver, entries: entries - 1, bytes: Math.max(0, bytes - 1) };
      assert.deepEqual(changesOf(planFor(volume, { a: '1', b: '1' }, { takenOver: oneLess })), ['modify a TakenOver']);
    });
  }
});

suite('a plan that removes all files', () => {
  test('is rejected, unless allowEmpty is set', () => {
    const volume = volumeWith({ ours: { a: '1', b: '1' } });
    assert.match(refusal(volume, {}, { settings: { allowEmpty: false } }), /^NothingLeft: .*\b2\b.*allowEmpty: true/);
    assert.deepEqual(changesOf(planFor(volume, {})), ['delete a NoLongerMapped', 'delete b NoLongerMapped']);
    const one = volumeWith({ ours: { a: '1' } });
    assert.match(refusal(one, {}, { settings: { allowEmpty: false } }), /^NothingLeft: .*\b1\b/);
    const last = planFor(volume, { a: '1' }, { settings: { allowEmpty: false } });
    assert.deepEqual(changesOf(last), ['delete b NoLongerMapped'], 'one file is left');
  });

  test("isn't one if an optional source keeps files, no file was owned, or none is pruned", () => {
    const strict = { settings: { allowEmpty: false } };
    const volume = volumeWith({ ours: { a: '1', b: '1' } });
    assert.deepEqual(changesOf(planFor(volume, {}, { ...strict, retained: ['a'] })), ['delete b NoLongerMapped']);
    assert.deepEqual(changesOf(planFor(new MemoryVolume(), {}, strict)), []);
    assert.deepEqual(changesOf(planFor(volume, {}, { settings: { allowEmpty: false, prune: false } })), []);
  });
});

suite('prune: false', () => {
  const kept = { settings: { prune: false } };

  test('deletes nothing, but keeps ownership, so a later prune deletes it', () => {
    const volume = volumeWith({ ours: { a: '1', 'd/b': '1' } });
    volume.apply(planFor(volume, { a: '2' }, kept));
    assert.deepEqual(volume.contents(), { a: '2', 'd/b': '1' });
    volume.apply(planFor(volume, { a: '2' }));
    assert.deepEqual([volume.contents(), [...volume.directories]], [{ a: '2' }, []]);
  });

  test('rejects a change that needs the place of a kept file or directory', () => {
    assert.match(refusal(volumeWith({ ours: { a: '1' } }), { 'a/b': '1' }, kept), /^PathConflict: a /);
    assert.match(refusal(volumeWith({ ours: { 'a/b': '1' } }), { a: '1' }, kept), /^PathConflict: a /);
  });
});

suite('drift of a delivered file', () => {
  const drifted = () => {
    const volume = volumeWith({ ours: { a: '1', b: '1', 'd/c': '1', ok: '1' } });
    volume.write('a', 'x');
    volume.files.delete('b');
    volume.files.delete('d/c');
    volume.directories.delete('d');
    return volume;
  };
  const desired = { a: '1', b: '1', 'd/c': '1', ok: '1' };
  const listed = (isRepaired: boolean): Drift[] => [
    { path: 'a', reason: 'Drifted', isRepaired },
    { path: 'b', reason: 'Missing', isRepaired },
    { path: 'd/c', reason: 'Missing', isRepaired },
  ];

  test('is repaired and listed under repair', () => {
    const repair = planFor(drifted(), desired);
    assert.deepEqual(changesOf(repair), ['modify a Drifted', 'add b Missing', 'add d/c Missing']);
    assert.deepEqual(repair.drift, listed(true));
  });

  test('is listed under report, not even listed under ignore, and unchanged in both', () => {
    const report = planFor(drifted(), desired, { settings: { drift: 'report' } });
    assert.deepEqual([changesOf(report), report.directories.create, report.drift], [[], [], listed(false)]);
    const ignore = planFor(drifted(), desired, { settings: { drift: 'ignore' } });
    assert.deepEqual([changesOf(ignore), ignore.directories.create, ignore.drift], [[], [], []]);
  });

  test('is overwritten by a commit that changes the file', () => {
    const next = planFor(drifted(), { ...desired, a: '2', b: '2' }, { settings: { drift: 'report' } });
    assert.deepEqual(changesOf(next), ['modify a ContentChanged', 'add b Missing']);
  });

  test("stays if it isn't repaired, even when the file is no longer mapped", () => {
    const volume = drifted();
    volume.apply(planFor(volume, { ok: '1' }, { settings: { drift: 'ignore' } }));
    assert.deepEqual(volume.contents(), { a: 'x', ok: '1' });
  });

  test('is reported and kept after three repairs in a row', () => {
    const volume = volumeWith({ ours: { a: '1' } });
    const repairs = new RepairCounts();
    const look = (isDrifted: boolean) => {
      if (isDrifted) volume.write('a', 'x');
      const next = planFor(volume, { a: '1' }, { repairs });
      volume.apply(next);
      repairs.onCheck(next.drift);
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

suite('a file that differs from the delivered one', () => {
  const record = ownedFile('a', { executable: true });
  const file = (sha256: string, executable: boolean): LiveEntry => ({
    kind: 'file',
    sha256,
    executable,
    blob: undefined,
    fingerprint: { size: 2, mtimeMs: 2, ino: 2 },
  });
  for (const [what, entry, reason] of [
    ['nothing where it is there as it was', file('s', true), undefined],
    ['one that is gone', undefined, 'Missing'],
    ['one with other content', file('t', true), 'Drifted'],
    ['one with another mode', file('s', false), 'ModeChanged'],
    ['one with other content and another mode', file('t', false), 'Drifted'],
    ['a folder in its place', { kind: 'directory' }, 'Drifted'],
    ['a link in its place', { kind: 'link' }, 'Drifted'],
  ] as const) {
    test(`is ${what}, with the current content listed`, () => {
      const manifest = { ...emptyManifest(), files: new Map([['a', record]]) };
      const live = new Map(entry ? [['a', entry]] : []);
      assert.deepEqual(driftOf(manifest, live), reason ? [{ record, reason, live: entry }] : []);
    });
  }
});

suite('the summary of a plan', () => {
  const { changes, ...rest } = planFor(new MemoryVolume(), { a: '1', b: '2' });
  const [add] = changes;
  const kinds = ['add', 'add', 'modify', 'delete', 'modify', 'delete', 'delete'] as const;
  const many = { ...rest, changes: kinds.map((kind, index) => ({ ...add, kind, path: `p${index}` })), unchanged: 5 };

  test('counts files', () => {
    assert.deepEqual(countFiles(many as Plan), { added: 2, modified: 2, deleted: 3, unchanged: 5 });
    const drift = [true, false, true].map((isRepaired) => ({ path: 'a', reason: 'Drifted' as const, isRepaired }));
    assert.equal(countDrift({ ...rest, changes, drift }), 2);
  });

  test('counts files that stay: right, unchecked, and kept ones', () => {
    const volume = volumeWith({ ours: { a: '1', b: '1', c: '1' } });
    const next = planFor(volume, { a: '1', b: '1', d: '1' }, { retained: ['c'], untouched: 5 });
    assert.deepEqual([next.unchanged, next.isPartial], [8, false]);
    assert.equal(planFor(volume, { a: '1' }, { isPartial: true }).isPartial, true);
  });

  test('lists the first changes, and the beginning of long paths, which shows their destination', () => {
    assert.deepEqual(describeChanges(many as Plan, 3), ['add p0 (New)', 'add p1 (New)', 'modify p2 (New)']);
    const [long = ''] = describeChanges(planFor(new MemoryVolume(), { ['x/'.repeat(2_000).concat('end')]: '1' }), 1);
    assert.deepEqual([long.slice(0, 8), long.slice(-8)], ['add x/x/', 'x… (New)']);
  });

  test('lists changes of the longest paths in entries that a report can have', () => {
    for (const { kind, reason } of [
      { kind: 'add', reason: 'New' },
      { kind: 'differs', reason: 'PublishChanged' },
    ]) {
      for (const path of ['x/'.repeat(1_536), 'é/'.repeat(1_024), '𝒳/'.repeat(614)]) {
        const entry = describeChange({ kind, path, reason });
        assert.ok(entry.startsWith(`${kind} ${path.slice(0, 900)}`) && entry.endsWith(`… (${reason})`), entry);
        assert.ok(v.is(syncReportStatusSchema, { state: 'Synced', changes: [entry] }), `${kind} ${reason}`);
      }
    }
  });

  test('lists all files to write in a dry run, else those that may be right already', () => {
    const plain = { path: 'p', source: 'p', blob: '1', executable: false, template: false };
    const rendered = [
      { ...plain, template: true },
      { ...plain, patches: { steps: [], hash: 'h' } },
    ];
    const existing = { kind: 'link' as const };
    const changesFor = (...reasons: Change['reason'][]) =>
      [plain, ...rendered].flatMap((file) =>
        reasons.map((reason) => ({ kind: 'modify', path: 'p', reason, file, existing })),
      );
    const { file: _, ...deleted } = { ...add, kind: 'delete', file: undefined };
    const previewed = (reasons: Change['reason'][], which: Parameters<typeof filesToPreview>[1]) =>
      filesToPreview({ ...rest, changes: [...changesFor(...reasons), deleted] } as Plan, which);
    assert.deepEqual(previewed(['New'], 'all'), [plain, ...rendered]);
    assert.deepEqual(previewed(['New'], 'rendered'), rendered);
    assert.deepEqual(previewed(['New', 'Drifted', 'ModeChanged'], 'guesses'), []);
    for (const reason of ['TakenOver', 'ContentChanged', 'ValuesChanged', 'PatchesChanged'] as const)
      assert.deepEqual(previewed([reason], 'guesses'), rendered);
  });
});

suite('on a volume that ignores case, the plan', () => {
  test("rejects names that would collide, and the agent's own directory, before the first write", () => {
    const folding = CASELESS;
    assert.match(refusalOf({ 'x/Name': '1', 'x/name': '2' }, { folding }), /^NameCollision: x\/name .* x\/Name /);
    assert.match(refusalOf({ 'A/x': '1', 'a/y': '2' }, { folding }), /^NameCollision: a and A collide/);
    assert.match(refusalOf({ '.Sync-Agent/x': '1' }, { folding }), /^NameCollision: \.Sync-Agent .* \.sync-agent /);
    assert.match(refusalOf({ straße: '1', STRASSE: '2' }, { folding }), /^NameCollision/);
    assert.deepEqual(changesOf(planFor(new MemoryVolume(), { 'x/Name': '1', 'x/name': '2' })).length, 2);
  });

  test('keeps names apart that differ in non-ASCII letters, if the volume folds only ASCII', () => {
    const folding = { case: 'ascii', unicode: false } as const;
    const collision = /^NameCollision: readme .* README (?!.*Unicode)/;
    assert.match(refusalOf({ README: '1', readme: '2' }, { folding }), collision);
    const others = { Äpfel: '1', äpfel: '2', straße: '1', STRASSE: '2' };
    assert.equal(planFor(new MemoryVolume(), others, { folding }).changes.length, 4);
    const volume = volumeWith({ ours: { name: '1' } });
    const renamed = planFor(volume, { Name: '1' }, { folding });
    assert.deepEqual(changesOf(renamed), ['delete name NoLongerMapped', 'add Name New']);
  });

  test('treats two Unicode forms of a name as one, if the volume normalizes names', () => {
    const composed = 'é'.normalize('NFC');
    const decomposed = 'é'.normalize('NFD');
    const folding = { case: false, unicode: true };
    assert.match(refusalOf({ [composed]: '1', [decomposed]: '2' }, { folding }), /^NameCollision: .* Unicode/);
  });

  test('renames a file that changes only in case by removing the old name first', () => {
    const volume = volumeWith({ ours: { name: '1', other: '1' } });
    const next = planFor(volume, { Name: '1', other: '1' }, { folding: CASELESS });
    assert.deepEqual(changesOf(next), ['delete name NoLongerMapped', 'add Name New']);
  });
});

suite('a mount of the pod inside the data volume', () => {
  const mounts = ['data/cache', 'logs'];
  const problem = (path: string, point: string) => new RegExp(` ${point} .* ${path} `);

  for (const [path, point] of [
    ['data/cache', 'data/cache'],
    ['data/cache/x/y', 'data/cache'],
    ['data', 'data/cache'],
  ] as const) {
    test(`takes no file: ${path}`, () => {
      assert.match(refusalOf({ [path]: '1' }, { mounts }), problem(path, point));
    });
  }

  test('is named once in the error, under its own name even if case is ignored', () => {
    const files = { 'data/cache/x': '1', 'data/cache/y': '1', 'logs/z': '1' };
    const reported = refusalOf(files, { mounts });
    assert.match(reported, /^PathConflict: [^;]* at data\/cache [^;]* data\/cache\/x [^;]*; [^;]* at logs [^;]*$/);
    const other = { mounts: ['Data/Cache'], folding: CASELESS };
    assert.match(refusalOf({ 'data/cache/x': '1' }, other), problem('data/cache/x', 'Data/Cache'));
    const cased = planFor(new MemoryVolume(), { 'data/cache/x': '1' }, { mounts: ['Data/Cache'] });
    assert.deepEqual(changesOf(cased).length, 1);
  });

  test("doesn't affect names that only begin with its own", () => {
    const next = planFor(new MemoryVolume(), { 'data/cached': '1', log: '1', 'x/logs': '1' }, { mounts });
    assert.equal(next.changes.length, 3);
  });

  test('stays with the directories around it, and is no longer owned', () => {
    const volume = volumeWith({ ours: { 'data/cache/x': '1', 'data/own/x': '1', b: '1' } });
    const next = planFor(volume, { b: '1' }, { mounts });
    assert.deepEqual(changesOf(next), ['delete data/own/x NoLongerMapped']);
    assert.deepEqual(next.disowned, ['data/cache/x', 'data/own/x']);
    assert.deepEqual(next.directories.prune, ['data/own']);
  });
});

test('files are rewritten when groupWrite changes, in both directions', () => {
  const volume = volumeWith({ ours: { a: '1' } });
  const wide = planFor(volume, { a: '1' }, { settings: { groupWrite: true } });
  assert.deepEqual(changesOf(wide), ['modify a ModeChanged']);
  const record = volume.manifest.files.get('a') ?? assert.fail();
  volume.manifest.files.set('a', { ...record, groupWrite: true });
  assert.deepEqual(changesOf(planFor(volume, { a: '1' }, { settings: { groupWrite: true } })), []);
  assert.deepEqual(changesOf(planFor(volume, { a: '1' })), ['modify a ModeChanged']);
});
