import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import type { Check } from '../../../../shared/api/sync.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { localSandbox } from '../support/local-sandbox.ts';

const checks: Check[] = [
  { files: '**/*.json', format: 'json' },
  { files: 'etc/*.yaml', format: 'yaml' },
  { files: '*.toml', format: 'toml' },
];

const failure = (message: RegExp | string) => ({ name: 'TerminalError', code: 'sync.CheckFailed', message });

suite('checks before a sync', () => {
  test('keep a commit with an invalid file from changing anything, even in a dry run', slow, async (t) => {
    const { repo, commit, sandbox, deliver } = await localSandbox(t);
    const good = { 'a.json': '{}', 'etc/b.yaml': 'a: 1', 'c.toml': 'a = 1', other: '{' };
    await deliver(good, { checks });
    assert.deepEqual(await sandbox.files(), good);
    const files = { 'a.json': '{\n"a": 1,}', 'etc/b.yaml': 'a: b: c', 'c.toml': 'a', other: '}', new: '1' };
    const bad = { repo, commit: await commit({ files }) };
    const words = /^a\.json: line 2, column 8: .*; c\.toml: line 1, column 1: .*; etc\/b\.yaml: line 1, column 4: /;
    for (const dryRun of [true, false]) {
      await assert.rejects(sandbox.sync({ ...bad, profile: { checks, dryRun } }), failure(words));
    }
    assert.deepEqual(await sandbox.files(), good);
    await sandbox.sync(bad);
    assert.deepEqual(await sandbox.files(), files);
  });

  test('see the content after templates and patches, at the paths of the data volume', slow, async (t) => {
    const { commit, sandbox, sync: syncWith } = await localSandbox(t);
    await commit({ files: { 'in/a.json': '{"port": {{ .Vars.port }} }' } });
    const mappings = [
      { source: 'in/a.json', destination: 'out.json', required: true, template: true },
    ] as ResolvedProfile['mappings'];
    const sync = (port: string, files: string) =>
      syncWith({ mappings, vars: { port }, checks: [{ files, format: 'json' }] });
    await assert.rejects(sync('08', 'out.json'), failure(/^in\/a\.json: line 1, column 11: /));
    await sync('80', 'out.json');
    assert.deepEqual(await sandbox.files(), { 'out.json': '{"port": 80 }' });
    await assert.rejects(sync('08', 'out.json'), failure(/^in\/a\.json: /));
    await sync('08', 'in/a.json');
    assert.deepEqual(await sandbox.files(), { 'out.json': '{"port": 08 }' });
  });

  test('cover files that were delivered before, once a check is added', slow, async (t) => {
    const { repo, commit, sandbox, deliver } = await localSandbox(t);
    const target = { repo, commit: await commit({ files: { 'a.json': '{', b: '1' } }) };
    await sandbox.sync(target);
    for (const isNew of [false, true]) {
      if (isNew) await sandbox.restart();
      await assert.rejects(sandbox.sync({ ...target, profile: { checks } }), failure(/^a\.json: /));
    }
    const other = { repo, commit: await commit({ files: { b: '2' } }) };
    await assert.rejects(sandbox.sync({ ...other, profile: { checks } }), failure(/^a\.json: /));
    assert.deepEqual(await sandbox.files(), { 'a.json': '{', b: '1' });
    await deliver({ 'a.json': '{}' }, { checks });
    assert.deepEqual(await sandbox.files(), { 'a.json': '{}', b: '2' });
  });

  test('cover a file that the gateway has written itself', slow, async (t) => {
    const { repo, commit, sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'a.json': '{}', b: '1' }, { checks });
    await sandbox.restart();
    await writeFile(at('a.json'), '{');
    const next = { repo, commit: await commit({ files: { 'a.json': '{' } }) };
    await assert.rejects(sandbox.sync({ ...next, profile: { checks } }), failure(/^a\.json: /));
  });

  test('name five of many files', async (t) => {
    const { commit, sync } = await localSandbox(t);
    const files = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`${index}.json`, '{']));
    await commit({ files: files });
    await assert.rejects(sync({ checks }), failure(/^0\.json: [^;]*(; \d\.json: [^;]*){4}; and 2 more$/));
  });

  test('report a file that is too large', async (t) => {
    const { commit, sync } = await localSandbox(t);
    const large = Buffer.alloc(8 * 1024 ** 2 + 1, ' ');
    await commit({ files: { 'a.json': large } });
    await assert.rejects(sync({ checks }), failure(/^a\.json: larger than 8388608 bytes/));
  });
});
