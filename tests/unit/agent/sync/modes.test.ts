import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { describeChanges } from '../../../../agent/plan/summarize-plan.ts';
import type { SyncOutcome } from '../../../../agent/report/sync-outcome.ts';
import { VolumeLock } from '../../../../agent/volume/state/volume-lock.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { codedError } from '../../../support/coded-error.ts';
import { slow } from '../../../support/depth.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { mappingOf, treeOf } from '../support/tree-files.ts';

type Profile = Partial<ResolvedProfile>;

const modeOf = (file: string): string => (statSync(file).mode & 0o7777).toString(8);
const modeIn = ({ data }: Sandbox, file: string): string => modeOf(path.join(data, file));
const changesOf = ({ plan }: SyncOutcome<'synced' | 'planned'>): string[] => describeChanges(plan, 100).sort();

/** A profile that delivers `keys` with a mode, or without one. */
const keysWith = (mode?: string, more: Profile = {}): Profile => ({
  mappings: [mappingOf('conf', 'conf'), mappingOf('keys', 'keys', mode === undefined ? {} : { mode })],
  ...more,
});
const files = { 'conf/a': '1', 'keys/id': 'key', 'keys/sub/run': { content: '#!', executable: true } };

suite('a mapping with a mode', () => {
  test('delivers all files with exactly this mode, regardless of git and groupWrite', async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t, 'modes');
    const id = await commit({ files });
    await sync(keysWith('0640', { groupWrite: true }), id);
    assert.deepEqual(
      ['conf/a', 'keys/id', 'keys/sub/run', 'keys/sub'].map((file) => modeIn(sandbox, file)),
      ['664', '640', '640', '775'],
    );
    await commit({ files: { 'keys/id': { content: 'key', executable: true } } });
    const { plan } = await sync(keysWith('0640', { groupWrite: true }));
    assert.deepEqual([plan.changes, plan.corrected, plan.drift], [[], [], []]);
  });

  test('is exact with any umask', async (t) => {
    for (const mask of [0o000, 0o077]) {
      const { sandbox, deliver } = await localSandbox(t, 'umask');
      const umask = process.umask(mask);
      try {
        await deliver(files, keysWith('0440'));
      } finally {
        process.umask(umask);
      }
      assert.deepEqual([modeIn(sandbox, 'keys/id'), modeIn(sandbox, 'conf/a')], ['440', '644']);
    }
  });

  test('that changes is a change of its files only, in the same commit and after a restart', slow, async (t) => {
    const { sandbox, sync, deliver } = await localSandbox(t, 'changed');
    await deliver(files, keysWith());
    const steps: [mode: string | undefined, changes: string[], modes: [string, string]][] = [
      ['0600', ['modify keys/id (ModeChanged)', 'modify keys/sub/run (ModeChanged)'], ['600', '600']],
      ['0644', ['modify keys/id (ModeChanged)', 'modify keys/sub/run (ModeChanged)'], ['644', '644']],
      [undefined, ['modify keys/sub/run (ModeChanged)'], ['644', '755']],
      ['0755', ['modify keys/id (ModeChanged)'], ['755', '755']],
    ];
    for (const [mode, changes, modes] of steps) {
      const dry = await sync(keysWith(mode, { dryRun: true }));
      assert.deepEqual(changesOf(dry), changes, `dry run, ${mode}`);
      const outcome = await sync(keysWith(mode));
      assert.deepEqual(changesOf(outcome), changes, `${mode}`);
      assert.deepEqual(outcome.plan.drift, [], `${mode}`);
      assert.deepEqual([modeIn(sandbox, 'keys/id'), modeIn(sandbox, 'keys/sub/run')], modes);
      await sandbox.restart();
      assert.deepEqual(changesOf(await sync(keysWith(mode))), [], `${mode}`);
    }
  });

  test('applies to new and changed files of later commits, and to templates and patches', async (t) => {
    const { repo, commit, sandbox, deliver } = await localSandbox(t, 'rendered');
    const patches = [{ file: 'p.json', set: { a: '2' } }];
    const profile = { mappings: [mappingOf('keys', 'keys', { mode: '0600', template: true, patches })] };
    const first = { 'keys/t': '{{ .Ref }}', 'keys/p.json': '{"a": 1}' };
    await deliver(first, profile);
    const second = { ...first, 'keys/new': 'x', 'keys/t': '{{ .Ref }}!' };
    const target = { repo, commit: await commit({ files: second }), profile };
    await sandbox.sync(target);
    await sandbox.sync({ ...target, ref: 'other' });
    assert.deepEqual(await sandbox.files(), { 'keys/new': 'x', 'keys/p.json': '{"a": 2}', 'keys/t': 'other!' });
    for (const file of ['keys/t', 'keys/p.json', 'keys/new']) assert.equal(modeIn(sandbox, file), '600', file);
  });

  test('gives a file that several mappings deliver the mode of the last one', async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t, 'layers');
    const id = await commit({ files: { 'base/a': '1', 'base/b': '1', 'over/b': '2' } });
    const base = mappingOf('base', '.', { mode: '0640' });
    const over = mappingOf('over', '.');
    await sync({ mappings: [base, over] }, id);
    assert.deepEqual([modeIn(sandbox, 'a'), modeIn(sandbox, 'b')], ['640', '644']);
    await sync({ mappings: [base, { ...over, mode: '0400' }] }, id);
    assert.deepEqual([modeIn(sandbox, 'a'), modeIn(sandbox, 'b')], ['640', '400']);
    const { plan } = await sync({ mappings: [base] }, id);
    assert.deepEqual(describeChanges(plan, 9), ['modify b (ContentChanged)']);
    assert.deepEqual([modeIn(sandbox, 'b'), (await sandbox.files()).b], ['640', '1']);
  });

  test('makes any other mode of its files drift, which is repaired or reported', slow, async (t) => {
    const { repo, commit, sandbox, at } = await localSandbox(t, 'drift');
    const target = { repo, commit: await commit({ files }), profile: keysWith('0600') };
    await sandbox.sync(target);
    for (const mode of [0o644, 0o660, 0o400, 0o4600]) {
      await sandbox.restart();
      chmodSync(at('keys/id'), mode);
      const { changes } = await sandbox.inspect({ kind: 'drift' }, target);
      assert.deepEqual(
        changes.map(({ path: file, reason, before, after }) => [file, reason, before?.mode, after?.mode]),
        [['keys/id', 'ModeChanged', 0o600, mode]],
      );
      const { plan } = await sandbox.sync(target);
      assert.deepEqual(plan.drift, [{ path: 'keys/id', reason: 'Drifted', isRepaired: true }]);
      assert.equal(modeIn(sandbox, 'keys/id'), '600');
    }
    chmodSync(at('keys/id'), 0o644);
    chmodSync(at('conf/a'), 0o600);
    const { plan } = await sandbox.sync({ ...target, profile: keysWith('0600', { drift: 'report' }) });
    assert.deepEqual(plan.drift, [{ path: 'keys/id', reason: 'Drifted', isRepaired: false }]);
    assert.deepEqual([modeIn(sandbox, 'keys/id'), modeIn(sandbox, 'conf/a')], ['644', '600']);
  });

  test('is corrected with a copy, unless the file is unreadable, or changes in between', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t, 'copies');
    await deliver(files, keysWith('0640'));
    const key = at('keys/id');
    for (const mode of [0o644, 0o240]) {
      chmodSync(key, mode);
      await sync(keysWith('0640'));
      assert.deepEqual([modeIn(sandbox, 'keys/id'), (await sandbox.files())['keys/id']], ['640', 'key']);
    }
    const { mtime } = statSync(key);
    const race = t.mock.method(VolumeLock.prototype, 'check', () => {
      race.mock.restore();
      writeFileSync(key, 'KEY');
      utimesSync(key, mtime, mtime);
    });
    await assert.rejects(sync(keysWith('0600')), { code: 'data.changed' });
    assert.deepEqual([modeIn(sandbox, 'keys/id'), (await sandbox.files())['keys/id']], ['640', 'KEY']);
  });

  test('is corrected with the content from git if the gateway keeps the agent from reading the file', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t, 'copies');
    await deliver(files, keysWith('0640'));
    const key = at('keys/id');
    const { ino } = statSync(key);
    mockCalls(t, ['accessSync', 'openSync'], (_, args, real) => {
      const stats = statSync(String(args[0]), { throwIfNoEntry: false });
      if (stats?.ino === ino) throw codedError('EACCES');
      return real(...args);
    });
    await sync(keysWith('0600'));
    assert.deepEqual([modeIn(sandbox, 'keys/id'), (await sandbox.files())['keys/id']], ['600', 'key']);
  });

  test('is compared with files that the agent found', async (t) => {
    const { commit, sandbox, at, sync } = await localSandbox(t, 'found');
    for (const [name, mode] of Object.entries({ same: 0o600, other: 0o644 })) {
      writeFileSync(at(name), name);
      chmodSync(at(name), mode);
    }
    const id = await commit({ files: { same: 'same', other: 'other' } });
    const profile: Profile = { mappings: [mappingOf('.', '.', { mode: '0600' })] };
    assert.deepEqual(changesOf(await sync(profile, id)), ['modify other (TakenOver)']);
    assert.equal(modeIn(sandbox, 'other'), '600');
    assert.equal(readdirSync(at('.sync-agent/taken-over')).length, 1);
  });

  test('is corrected with onConflict: refuse if only the mode of a found file is wrong, and the file stays', async (t) => {
    const { commit, sandbox, at, sync: syncWith } = await localSandbox(t);
    const modes = { public: 0o644, script: 0o755, other: 0o644 };
    for (const [name, mode] of Object.entries(modes)) {
      writeFileSync(at(name), name);
      chmodSync(at(name), mode);
    }
    const sync = async (id: string, mode: string | undefined) => {
      const profile: Profile = { mappings: [mappingOf('.', '.', { mode })], onConflict: 'refuse', allowEmpty: true };
      return changesOf(await syncWith(profile, id));
    };
    const different = await commit({ files: { public: 'public', other: 'different' } });
    await assert.rejects(sync(different, '0600'), { reason: 'PathConflict', message: /^other / });
    assert.equal(modeIn(sandbox, 'public'), '644');
    const id = await commit({ files: { script: 'script', other: null } });
    assert.deepEqual(await sync(id, '0600'), ['modify public (ModeChanged)', 'modify script (ModeChanged)']);
    assert.deepEqual([modeIn(sandbox, 'public'), modeIn(sandbox, 'script')], ['600', '600']);
    await sync(await commit({ files: { public: null, script: null } }), '0600');
    assert.deepEqual(await sandbox.files(), { public: 'public', script: 'script', other: 'other' });
    assert.deepEqual(readdirSync(at('.sync-agent/taken-over')), []);
  });

  test('is corrected in files that the agent found, which stay when they are no longer mapped', slow, async (t) => {
    for (const onConflict of ['refuse', 'takeOver'] as const) {
      const { commit, sandbox, at, sync: syncWith } = await localSandbox(t);
      const key = at('keys/id');
      mkdirSync(path.dirname(key));
      writeFileSync(key, 'key');
      chmodSync(key, 0o600);
      await commit({ files: { 'conf/a': '1', 'keys/id': 'key' } });
      const sync = async (mode: string | undefined, more: Profile = {}) =>
        await syncWith(keysWith(mode, { onConflict, ...more }));
      assert.deepEqual(changesOf(await sync('0600')), ['add conf/a (New)']);
      for (const mode of [0o660, 0o200]) {
        await sandbox.restart();
        chmodSync(key, mode);
        const { plan } = await sync('0600');
        assert.deepEqual(plan.drift, [{ path: 'keys/id', reason: 'Drifted', isRepaired: true }]);
        assert.equal(modeIn(sandbox, 'keys/id'), '600');
      }
      chmodSync(key, 0o660);
      const { plan } = await sync('0600', { drift: 'report' });
      assert.deepEqual(plan.drift, [{ path: 'keys/id', reason: 'Drifted', isRepaired: false }]);
      assert.deepEqual(changesOf(await sync('0640')), ['modify keys/id (ModeChanged)']);
      assert.equal(modeIn(sandbox, 'keys/id'), '640');
      assert.deepEqual(changesOf(await sync('0640', { groupWrite: true })), ['modify conf/a (ModeChanged)']);
      assert.deepEqual(changesOf(await sync(undefined, { groupWrite: true })), ['modify keys/id (ModeChanged)']);
      chmodSync(key, 0o644);
      assert.deepEqual(changesOf(await sync(undefined, { groupWrite: true })), [], 'as before it had a mode');
      await sync(undefined, { mappings: [mappingOf('conf', 'conf')] });
      assert.deepEqual(await sandbox.files(), { 'conf/a': '1', 'keys/id': 'key' });
      assert.deepEqual(readdirSync(at('.sync-agent/taken-over')), []);
    }
  });

  test('in an atomic destination gives only the affected files a new inode, and keeps the previous tree', async (t) => {
    const { commit, sandbox, at, sync } = await localSandbox(t, 'atomic');
    const id = await commit({ files: { 'dags/a': '1', 'keys/id': 'key' } });
    const profileOf = (mode: string) => ({
      mappings: [mappingOf('dags', 'dags', { publish: 'atomic' }), mappingOf('keys', 'dags/keys', { mode })],
    });
    await sync(profileOf('0644'), id);
    const old = treeOf(sandbox);
    const before = statSync(path.join(old, 'a'));
    const { plan } = await sync(profileOf('0600'), id);
    assert.deepEqual(describeChanges(plan, 9), ['modify dags/keys/id (ModeChanged)']);
    assert.notEqual(treeOf(sandbox), old);
    assert.equal(modeOf(path.join(old, 'keys/id')), '644');
    assert.equal(modeIn(sandbox, 'dags/keys/id'), '600');
    assert.equal(statSync(at('dags/a')).ino, before.ino);
    chmodSync(at('dags/keys/id'), 0o644);
    const repaired = await sync(profileOf('0600'), id);
    assert.deepEqual(repaired.plan.drift, [{ path: 'dags/keys/id', reason: 'Drifted', isRepaired: true }]);
    assert.equal(modeIn(sandbox, 'dags/keys/id'), '600');
  });
});

suite('an answer about files with a mode', () => {
  test('has the modes, and no content of files that others can not read', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'answer');
    const target = { repo, commit: await commit({ files }), profile: keysWith() };
    await sandbox.sync(target);
    for (const [mode, reported, shown] of [
      ['0444', 0o444, ['key', '#!']],
      ['0640', 0o640, ['secret', 'secret']],
    ] as const) {
      const { changes } = await sandbox.inspect({ kind: 'diff', ref: 'main' }, { ...target, profile: keysWith(mode) });
      assert.deepEqual(
        changes.map(({ reason, before, after }) => [reason, before?.mode, after?.mode]),
        [0o644, 0o755].map((before) => ['ModeChanged', before, reported]),
      );
      assert.deepEqual(
        changes.map(({ leftOut, after }) => leftOut ?? after?.text),
        shown,
      );
    }
  });

  test('has no content of a file that was private, whatever its mode is now', slow, async (t) => {
    const { repo, commit, sandbox, at } = await gitSandbox(t, 'private');
    const target = { repo, commit: await commit({ files }), profile: keysWith('0600') };
    await sandbox.sync(target);
    chmodSync(at('keys/id'), 0o644);
    await commit({ files: { 'keys/id': 'new key' } });
    for (const profile of [keysWith(), { mappings: [mappingOf('conf', 'conf')] }]) {
      const { changes } = await sandbox.inspect({ kind: 'diff', ref: 'main' }, { ...target, profile });
      const [key] = changes.filter(({ path: file }) => file === 'keys/id');
      assert.deepEqual([key?.leftOut, key?.before?.text, key?.after?.text], ['secret', undefined, undefined]);
    }
  });
});
