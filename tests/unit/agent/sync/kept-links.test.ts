import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { changesOf } from '../support/changes-of.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { expectTrees, mappingOf, ownContents } from '../support/tree-files.ts';

const keep = { links: 'keep' as const, linkPrefixes: ['/usr/share/nginx'] };
const profileOf = (more: Partial<ResolvedProfile> = {}, mapping: object = {}): Partial<ResolvedProfile> => ({
  mappings: [mappingOf('conf', 'conf', { ...keep, ...mapping })],
  ...more,
});

/** A sandbox, and a sync of the given files after the earlier ones. */
async function gatewayOf(t: TestContext) {
  const { sandbox, at, deliver } = await localSandbox(t);
  return {
    sandbox,
    at,
    deliver: (files: Parameters<typeof deliver>[0], profile = profileOf()) => deliver(files, profile),
  };
}

const absolute = { symlink: '/usr/share/nginx/modules/a.conf' };
const relative = { symlink: '../conf/file' };

/** Checks that a sync right after the last one finds nothing to do, and that no entry is left in transit. */
async function assertSettled({ sandbox, sync }: { sandbox: Sandbox; sync: () => ReturnType<Sandbox['sync']> }) {
  const { plan } = await sync();
  assert.deepEqual(plan.changes, []);
  for (const directory of ['staging', 'saved']) assert.deepEqual(ownContents(sandbox, directory), []);
}

suite('links: keep', () => {
  test('delivers links as they are, and changes and deletes them', async (t) => {
    const { sandbox, deliver } = await gatewayOf(t);
    await deliver({ 'conf/file': '1', 'conf/a': absolute, 'conf/sub/b': relative, 'conf/dangling': { symlink: 'x' } });
    const links = { 'conf/a': `-> ${absolute.symlink}`, 'conf/sub/b': `-> ${relative.symlink}` };
    assert.deepEqual(await sandbox.files(), { 'conf/file': '1', ...links, 'conf/dangling': '-> x' });
    await assertSettled({ sandbox, sync: () => deliver({}) });
    await deliver({ 'conf/a': { symlink: 'file' }, 'conf/dangling': null });
    assert.deepEqual(await sandbox.files(), { 'conf/file': '1', ...links, 'conf/a': '-> file' });
    await sandbox.restart();
    await assertSettled({ sandbox, sync: () => deliver({}) });
  });

  test('changes a link to a file, a directory, and back, and never writes through it', slow, async (t) => {
    const { sandbox, deliver, at } = await gatewayOf(t);
    await deliver({ 'conf/target': 'target', 'conf/x': { symlink: 'target' } });
    await deliver({ 'conf/x': 'target' }); // the content of the target
    assert.deepEqual(await sandbox.files(), { 'conf/target': 'target', 'conf/x': 'target' });
    assert.equal(fs.lstatSync(at('conf/x')).isSymbolicLink(), false);
    await deliver({ 'conf/x': null, 'conf/x/inside': '2', 'conf/dir/a': '1' });
    assert.deepEqual(await sandbox.files(), { 'conf/target': 'target', 'conf/x/inside': '2', 'conf/dir/a': '1' });
    await deliver({ 'conf/x/inside': null, 'conf/x': { symlink: 'dir' } });
    assert.equal(fs.readlinkSync(at('conf/x')), 'dir');
    assert.equal(fs.readFileSync(at('conf/dir/a'), 'utf8'), '1');
    await deliver({ 'conf/x': null, 'conf/x/inside': '3' });
    const last = { 'conf/target': 'target', 'conf/x/inside': '3', 'conf/dir/a': '1' };
    assert.deepEqual(await sandbox.files(), last);
    // A file with the text of a link as its content has the same ID in git.
    await deliver({ 'conf/x/inside': { symlink: 'y' } });
    await deliver({ 'conf/x/inside': 'y' });
    assert.deepEqual(await sandbox.files(), { ...last, 'conf/x/inside': 'y' });
    await assertSettled({ sandbox, sync: () => deliver({}) });
  });

  test('repairs a link that leads elsewhere, or was replaced by a file, and leaves the target alone', async (t) => {
    const { sandbox, deliver, at } = await gatewayOf(t);
    await deliver({ 'conf/file': '1', 'conf/x': { symlink: 'file' }, 'conf/y': { symlink: 'file' } });
    const expected = await sandbox.files();
    const outside = path.join(sandbox.directory, 'outside');
    fs.writeFileSync(outside, 'theirs');
    fs.unlinkSync(at('conf/x'));
    fs.symlinkSync(outside, at('conf/x'));
    fs.unlinkSync(at('conf/y'));
    fs.writeFileSync(at('conf/y'), 'file');
    const { plan } = await deliver({});
    assert.deepEqual(changesOf(plan), ['modify conf/x Drifted', 'modify conf/y Drifted']);
    assert.deepEqual(await sandbox.files(), expected);
    assert.equal(fs.readFileSync(outside, 'utf8'), 'theirs');
  });

  test('refuses a link of others with another text, and adopts one with the same', async (t) => {
    const { sandbox, deliver, at } = await gatewayOf(t);
    fs.mkdirSync(at('conf'));
    fs.symlinkSync('same', at('conf/a'));
    fs.symlinkSync('other', at('conf/b'));
    const files = { 'conf/a': { symlink: 'same' }, 'conf/b': { symlink: 'wanted' } };
    await assert.rejects(deliver(files), { reason: 'PathConflict' });
    fs.unlinkSync(at('conf/b'));
    await deliver(files);
    assert.deepEqual(await sandbox.files(), { 'conf/a': '-> same', 'conf/b': '-> wanted' });
    await deliver({}, { mappings: [mappingOf('other', 'other', { required: false })], allowEmpty: true });
    assert.deepEqual(await sandbox.files(), { 'conf/a': '-> same' });
  });

  test('takes over a file in the place of a link, and keeps it', async (t) => {
    const { sandbox, deliver, at } = await gatewayOf(t);
    fs.mkdirSync(at('conf'));
    fs.writeFileSync(at('conf/a'), 'theirs');
    await deliver({ 'conf/a': absolute });
    assert.deepEqual(await sandbox.files(), { 'conf/a': `-> ${absolute.symlink}` });
    await deliver({}, { mappings: [mappingOf('other', 'other', { required: false })], allowEmpty: true });
    assert.deepEqual(await sandbox.files(), {});
    assert.equal(fs.readFileSync(at('.sync-agent/taken-over/conf/a.kept'), 'utf8'), 'theirs');
  });

  test('refuses links that leave the volume, and delivers nothing', async (t) => {
    const { sandbox, deliver } = await gatewayOf(t);
    for (const symlink of ['/etc/passwd', '../../x', '/usr/share/nginx/../x', '../.sync-agent/manifest.jsonl'])
      await assert.rejects(deliver({ 'conf/a': { symlink }, 'conf/b': '1' }), { reason: 'ProfileInvalid' });
    assert.deepEqual(await sandbox.files(), {});
    await deliver({}, profileOf({ excludePatterns: ['/conf/a'] }));
    assert.deepEqual(await sandbox.files(), { 'conf/b': '1' });
  });

  test('applies to its mapping only, and not templates, patches, modes, or checks', async (t) => {
    const { sandbox, deliver } = await gatewayOf(t);
    const profile: Partial<ResolvedProfile> = {
      mappings: [mappingOf('conf', 'kept', { ...keep, template: true, mode: '0600' }), mappingOf('conf', 'followed')],
      checks: [{ files: 'kept/*.json', format: 'json' }],
    };
    await deliver({ 'conf/file': '1', 'conf/a.json': { symlink: 'file' } }, profile);
    const followed = { 'followed/file': '1', 'followed/a.json': '1' };
    assert.deepEqual(await sandbox.files(), { 'kept/file': '1', 'kept/a.json': '-> file', ...followed });
    await assertSettled({ sandbox, sync: () => deliver({}, profile) });
  });

  test('works in an atomic destination, with links that stay in it', slow, async (t) => {
    const { sandbox, deliver, at } = await gatewayOf(t);
    const profile = profileOf({}, { publish: 'atomic' });
    await deliver({ 'conf/file': '1', 'conf/sub/a': { symlink: '../file' }, 'conf/b': absolute }, profile);
    assert.equal(fs.readFileSync(at('conf/sub/a'), 'utf8'), '1');
    await sandbox.prepareTrees();
    await deliver({ 'conf/file': '2', 'conf/b': { symlink: 'sub' } }, profile);
    assert.deepEqual([fs.readlinkSync(at('conf/b')), fs.readFileSync(at('conf/b/a'), 'utf8')], ['sub', '2']);
    await assertSettled({ sandbox, sync: () => deliver({}, profile) });
    await expectTrees(sandbox, ['conf']);
    await assert.rejects(deliver({ 'conf/c': { symlink: '../other' } }, profile), { reason: 'ProfileInvalid' });
    await deliver({ 'conf/c': null }, profileOf());
    assert.equal(fs.readFileSync(at('conf/sub/a'), 'utf8'), '2');
  });

  test('a dry run lists a link like a file, and changes nothing', async (t) => {
    const { sandbox, deliver } = await gatewayOf(t);
    const { plan } = await deliver({ 'conf/a': absolute }, profileOf({ dryRun: true }));
    assert.deepEqual(changesOf(plan), ['add conf/a New']);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('a preview has another digest for a link than for a file with its text', slow, async (t) => {
    const { repo, commit, sandbox } = await localSandbox(t);
    const stable = { repo, commit: await commit({ files: { 'conf/file': '1' } }), profile: profileOf() };
    await sandbox.sync(stable);
    const link = { ...stable, commit: await commit({ files: { 'conf/a': { symlink: 'file' } } }) };
    const { digest, added } = await sandbox.preview(link, stable);
    const file = { ...stable, commit: await commit({ files: { 'conf/a': 'file' } }) };
    assert.equal(added, 1);
    assert.notEqual((await sandbox.preview(file, stable)).digest, digest);
    await sandbox.sync(link);
    assert.equal((await sandbox.preview(link, stable)).added, 0);
  });
});
