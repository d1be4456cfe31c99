import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { blocksOf, readPages } from '../../../support/markdown.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { failAt } from '../support/kill-at.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, treeOf } from '../support/tree-files.ts';

const SITE = { mappings: [mappingOf('site', '.')] };
const TREE = { 'site/a': '1', 'other/x': '1' };
const ATOMIC = { mappings: [mappingOf('site', 'pages/site', { publish: 'atomic' }), mappingOf('other', '.')] };

/** A volume whose directory `www` a gateway mounts. */
async function createVolume(t: TestContext) {
  const volume = await temporaryDirectory(t, 'volume-');
  const at = (name: string) => path.join(volume, name);
  const gateway = { podUid: 'uid-1' };
  fs.mkdirSync(at('www'));
  return {
    volume,
    at,
    /** An agent that mounts the gateway's part, as without the annotation. */
    usual: (podUid = gateway.podUid) => createSandbox(t, { shared: { data: at('www'), podUid } }),
    /** An agent that mounts the whole volume. */
    annotated: (state: string, { data = 'www', podUid = gateway.podUid, mounts = [] as string[] } = {}) =>
      createSandbox(t, { shared: { data: volume, podUid }, directories: { data, state }, mounts }),
  };
}

/** An earlier pod. */
async function deliverAndExit(agent: Promise<Sandbox>, target: Parameters<Sandbox['sync']>[0]): Promise<void> {
  const sandbox = await agent;
  await sandbox.sync(target);
  await sandbox.release();
}

/** Such a volume, and commits to deliver there. */
async function prepare(
  t: TestContext,
  files: Record<string, string> = { 'site/index.html': '1' },
  profile: object = SITE,
) {
  const { url: repo, commit } = await createLocalRepository('state');
  const targetOf = async (changes: Record<string, string | null>) => ({
    repo,
    commit: await commit({ files: changes }),
    profile,
  });
  return { ...(await createVolume(t)), target: await targetOf(files), targetOf };
}

/** Runs the commands in the message of an agent whose annotation differs from the place of its files. */
async function moveByHand(agent: Sandbox, target: Parameters<Sandbox['sync']>[0], volume: string): Promise<void> {
  const error = await agent.sync(target).then(
    () => assert.fail('it synced'),
    (cause: Error & { code?: string }) => cause,
  );
  assert.equal(error.code, 'data.stateInData');
  execFileSync('sh', ['-ec', error.message.slice(error.message.indexOf(': test ') + 2)], { cwd: volume });
}

/** Names in the data, without what leads nowhere. */
const served = ({ data }: Sandbox) => fs.readdirSync(data).filter((name) => fs.existsSync(path.join(data, name)));

suite("the agent's directory elsewhere in the volume", () => {
  test("isn't among the gateway's files, and can't be reached from them", async (t) => {
    const { at, annotated, target } = await prepare(t);
    const sandbox = await annotated('private/sync');
    await sandbox.sync(target);
    assert.deepEqual(served(sandbox), ['index.html']);
    assert.ok(fs.existsSync(at('private/sync/manifest.jsonl')));
    assert.equal(fs.statSync(at('private/sync')).mode & 0o777, 0o711);
    assert.equal(fs.readlinkSync(at('private/sync/data-root')), 'data-root=www', 'not a path that a scan can follow');
    fs.unlinkSync(at('private/sync/data-root'));
    fs.symlinkSync('www', at('private/sync/data-root'));
    await sandbox.restart();
    const { plan } = await sandbox.sync(target);
    assert.deepEqual(plan.changes, []);
  });

  test('is next to a directory that the agent creates like the kubelet', async (t) => {
    const { volume, at, annotated, target } = await prepare(t);
    fs.rmdirSync(at('www'));
    fs.chmodSync(volume, 0o775);
    const sandbox = await annotated('state', { data: 'sites/www' });
    await sandbox.sync(target);
    assert.equal(fs.readFileSync(at('sites/www/index.html'), 'utf8'), '1');
    for (const name of ['sites', 'sites/www']) assert.equal(fs.statSync(at(name)).mode & 0o777, 0o775);
  });

  test("reports a path in the volume if the data can't be opened, and opens it later", async (t) => {
    const { volume, at, annotated, target } = await prepare(t);
    fs.symlinkSync('www', at('sites'));
    const sandbox = await annotated('state', { data: 'sites/www' });
    const unusable = { code: 'data.unusable', reason: 'VolumeUnusable' };
    const link = /^sites\/www .* subPath/;
    await assert.rejects(sandbox.sync(target), { ...unusable, message: link });
    fs.unlinkSync(at('sites'));
    fs.mkdirSync(at('sites'));
    const denied = failAt(volume, 1, 'EACCES', { from: /\/sites\/www$/ });
    const user = /^sites\/www .* fsGroup /;
    await assert.rejects(sandbox.sync(target), { ...unusable, message: user });
    denied.end();
    await sandbox.sync(target);
    assert.equal(fs.readFileSync(at('sites/www/index.html'), 'utf8'), '1');
  });

  for (const [name, state] of [
    ['', 'state'],
    [' whose names a shell would split', "it's -x/$(state)"],
  ] as const) {
    test(`can be moved there by the commands in the message, with everything in it${name}`, async (t) => {
      const { volume, at, usual, annotated, target, targetOf } = await prepare(t, {
        'site/index.html': '1',
        'site/own': '1',
      });
      const later = await targetOf({ 'site/index.html': '2', 'site/own': null });
      fs.writeFileSync(at('www/own'), 'theirs');
      await deliverAndExit(usual(), target);
      const after = await annotated(state, { podUid: 'uid-2' });
      await moveByHand(after, target, volume);
      await after.sync(later);
      assert.deepEqual(served(after).sort(), ['index.html']);
      assert.equal(fs.readFileSync(at(`${state}/taken-over/own.kept`), 'utf8'), 'theirs');
      assert.equal(fs.readFileSync(at('www/index.html'), 'utf8'), '2');
    });
  }

  test('is in the data until a user moves it, and the agent changes nothing', async (t) => {
    const { volume, at, usual, annotated, target, targetOf } = await prepare(t);
    const later = await targetOf({ 'site/index.html': '2' });
    await deliverAndExit(usual(), target);
    const before = below(volume);
    const after = await annotated('state', { podUid: 'uid-2' });
    for (const dryRun of [false, true]) {
      await assert.rejects(after.sync({ ...later, profile: { ...SITE, dryRun } }), { code: 'data.stateInData' });
    }
    assert.deepEqual(below(volume), before);
    assert.ok(fs.statSync(at('www/.sync-agent')).isDirectory());
  });

  test('keeps links to trees valid, wherever a user moves it', async (t) => {
    const { volume, at, usual, annotated, target, targetOf } = await prepare(t, TREE, ATOMIC);
    const later = await targetOf({ 'site/a': '2', 'site/b': '2' });
    await deliverAndExit(usual(), target);
    const after = await annotated('www/pages/.state');
    await moveByHand(after, target, volume);
    const { plan } = await after.sync(target);
    assert.deepEqual([plan.changes, plan.publications, plan.drift], [[], [], []]);
    assert.match(fs.readlinkSync(at('www/pages/site')), /^\.state\/trees\//, 'a mount of www/pages is enough');
    assert.deepEqual(below(treeOf(after, 'pages/site')), { a: '1' });
    await after.sync(later);
    assert.deepEqual(below(treeOf(after, 'pages/site')), { a: '2', b: '2' });
    await after.removeTrees();
    assert.equal(fs.readdirSync(at('www/pages/.state/trees')).length, 1);
    await after.release();
  });

  test('is used if the commands were interrupted after the move', async (t) => {
    const { volume, at, usual, annotated, target } = await prepare(t);
    await deliverAndExit(usual(), target);
    fs.symlinkSync('data-root=www', at('www/.sync-agent/data-root'));
    fs.renameSync(at('www/.sync-agent'), at('state'));
    const { plan } = await (await annotated('state', { podUid: 'uid-2' })).sync(target);
    assert.deepEqual([plan.changes, plan.unchanged, fs.readdirSync(volume).sort()], [[], 1, ['state', 'www']]);
  });

  test('can be moved by a user with the documented commands', async (t) => {
    const { volume, at, usual, annotated, target, targetOf } = await prepare(t, {
      'site/index.html': '1',
      'site/old': '1',
    });
    const later = await targetOf({ 'site/old': null });
    await deliverAndExit(usual(), target);
    const page = (await readPages()).find(({ file }) => file === 'docs/reference/profiles/volume.md');
    assert.ok(page);
    const codes = blocksOf(page).map(({ code }) => code);
    const [add = '', change = '', remove = ''] = codes.filter((code) => /^(ln|mv|rm) /.test(code));
    const moveBy = (commands: string) => execFileSync('sh', ['-ec', commands], { cwd: volume });
    moveBy(add);
    const added = await annotated('sync-state');
    await added.sync(target);
    await added.release();
    moveBy(change);
    const changed = await annotated('other');
    await changed.sync(target);
    await changed.release();
    moveBy(remove.replace('sync-state', 'other'));
    const back = await usual();
    await back.sync(later);
    assert.deepEqual(
      fs.readdirSync(at('www')).sort(),
      ['.sync-agent', 'index.html'],
      'the agent still owned the files',
    );
  });

  test('reports a link that the gateway wrote without its control characters, and shortened', async (t) => {
    const { at, annotated, target } = await prepare(t);
    fs.symlinkSync(`sync.io/state-directory=x\u001b[31m\n${'y'.repeat(3000)}`, at('www/.sync-agent'));
    const sandbox = await annotated('state');
    await assert.rejects(sandbox.sync(target), / "x\?\[31m\?y{100,200}"/);
    fs.unlinkSync(at('www/.sync-agent'));
    fs.mkdirSync(at('state'));
    fs.symlinkSync('data-root=x\u001b[31m', at('state/data-root'));
    await assert.rejects(sandbox.sync(target), / "x\?\[31m" /);
  });
});

test("messages name the agent's files by their paths in the volume, as the annotation does", async (t) => {
  const { target } = await prepare(t);
  const obstacles: [string, (file: string) => void, RegExp][] = [
    ['agent.lock', (file) => fs.mkdirSync(file), /^private\/state\/agent\.lock /],
    ['manifest.jsonl', (file) => fs.mkdirSync(file), /^private\/state\/manifest\.jsonl /],
    ['staging', (file) => fs.writeFileSync(file, ''), /^private\/state\/staging /],
  ];
  for (const [name, obstruct, message] of obstacles) {
    const { at, annotated } = await createVolume(t);
    const sandbox = await annotated('private/state');
    await sandbox.sync(target);
    await sandbox.release();
    fs.rmSync(at(`private/state/${name}`), { recursive: true });
    obstruct(at(`private/state/${name}`));
    await sandbox.restart();
    await assert.rejects(sandbox.sync(target), { message });
  }
});

suite('two agents with different directories for the same data', () => {
  test('never use both', async (t) => {
    const { volume, usual, annotated, target } = await prepare(t);
    const before = await usual();
    await before.sync(target);
    const after = await annotated('state', { podUid: 'uid-2' });
    await assert.rejects(after.sync(target), { code: 'data.stateInData' });
    await before.release();
    await moveByHand(after, target, volume);
    await after.sync(target);

    await assert.rejects(before.sync(target), { code: 'data.stateElsewhere', message: /state-directory to state, / });
    const third = await annotated('third', { podUid: 'uid-3' });
    await assert.rejects(third.sync(target), {
      code: 'data.stateElsewhere',
      message: /state-directory to state, .* www\/\.sync-agent /,
    });
    assert.deepEqual(served(after), ['index.html']);
    assert.deepEqual(fs.readdirSync(volume).sort(), ['state', 'www']);
    await after.sync(target);
  });

  test('are kept apart if the link between them is removed', async (t) => {
    const { at, usual, annotated, target } = await prepare(t);
    const one = await annotated('state');
    await one.sync(target);
    fs.unlinkSync(at('www/.sync-agent'));
    await one.sync(target);
    await assert.rejects((await usual('uid-2')).sync(target), { code: 'data.stateElsewhere' });

    fs.unlinkSync(at('www/.sync-agent'));
    const two = await usual('uid-2');
    await two.sync(target);
    await assert.rejects(one.sync(target), { code: 'data.stateInData' });
  });
});

suite('a directory that is named for the agent', () => {
  const FILES = { 'site/index.html': '1', 'site/state/x': '1' };

  test("must not have others' files", async (t) => {
    const { at, annotated, target } = await prepare(t, FILES);
    fs.mkdirSync(at('uploads/staging'), { recursive: true });
    fs.writeFileSync(at('uploads/staging/photo'), 'theirs');
    const sandbox = await annotated('uploads');
    await assert.rejects(sandbox.sync(target), { code: 'data.stateForeign', message: /^uploads / });
    assert.deepEqual(below(at('uploads')), { 'staging/photo': 'theirs' });
    assert.deepEqual(served(sandbox), []);
  });

  test('must not belong to other data', async (t) => {
    const { at, annotated, target } = await prepare(t, FILES);
    await (await annotated('state')).sync(target);
    const other = await annotated('state', { data: 'www2', podUid: 'uid-2' });
    await assert.rejects(other.sync(target), { code: 'data.stateForeign', message: /^state .* www / });
    assert.deepEqual(fs.readdirSync(at('www2')), []);
  });

  test('must not be reached through a link', async (t) => {
    const { at, annotated, target } = await prepare(t, FILES);
    const elsewhere = await temporaryDirectory(t, 'elsewhere-');
    fs.symlinkSync(elsewhere, at('private'));
    const sandbox = await annotated('private/state');
    await assert.rejects(sandbox.sync(target), { code: 'data.symbolicLink', message: /^private / });
    assert.deepEqual(fs.readdirSync(elsewhere), []);
  });

  test('gets no files of a commit, and is not touched', async (t) => {
    const { at, annotated, target } = await prepare(t, FILES);
    const sandbox = await annotated('www/state');
    const mapped = sandbox.sync(target);
    await assert.rejects(mapped, { code: 'sync.PathConflict', message: / state .* state\/x / });
    const atomic = { mappings: [mappingOf('site', 'state', { publish: 'atomic' })] };
    await assert.rejects(sandbox.sync({ ...target, profile: atomic }), {
      code: 'sync.PathConflict',
      message: / state /,
    });
    const reload = reloadSettings({ gateway: { reload: { touchFile: 'state/manifest.jsonl' } } } as never);
    const profile = { mappings: [mappingOf('site/index.html', 'index.html')] };
    await assert.rejects(sandbox.sync({ ...target, profile, reload }), {
      reason: 'PathConflict',
      message: /touchFile: state\/manifest\.jsonl /,
    });
    await sandbox.sync({ ...target, profile });
    assert.ok(fs.existsSync(at('www/state/manifest.jsonl')));
  });

  test("must not be covered by another volume of the gateway's pod", async (t) => {
    const { at, usual, annotated, target } = await prepare(t, FILES);
    const plain = { ...target, profile: { mappings: [mappingOf('site/index.html', 'index.html')] } };
    const covered = (own: string) => ({
      reason: 'PathConflict',
      message: new RegExp(` ${own} .*`),
    });
    fs.mkdirSync(at('www/cache'));
    const fresh = await annotated('www/cache', { mounts: ['cache'] });
    await assert.rejects(fresh.sync(plain), covered('cache'));
    assert.deepEqual(fs.readdirSync(at('www')), ['cache'], 'the next pod can have another annotation');
    await deliverAndExit(usual(), plain);
    const { ino } = fs.statSync(at('www/cache'));
    for (const state of ['cache', 'cache/state']) {
      const sandbox = await annotated(`www/${state}`, { mounts: ['cache'] });
      await assert.rejects(sandbox.sync({ ...plain, profile: { ...plain.profile, dryRun: true } }), covered(state));
      await assert.rejects(sandbox.sync(plain), covered(state));
      await sandbox.release();
    }
    assert.equal(fs.statSync(at('www/cache')).ino, ino, 'the move would replace the mount point');
    assert.deepEqual(fs.readdirSync(at('www/cache')), []);

    const hidden = await createSandbox(t, { shared: { data: at('www'), podUid: 'uid-2' }, mounts: ['.sync-agent'] });
    await hidden.sync(plain);
    const atomic = { mappings: [mappingOf('site', 'pages/site', { publish: 'atomic' })] };
    await assert.rejects(hidden.sync({ ...plain, profile: atomic }), covered('.sync-agent'));
  });

  test('must be in the data if a destination links into it', async (t) => {
    const { volume, at, usual, annotated, target } = await prepare(t, TREE, ATOMIC);
    await deliverAndExit(usual(), target);
    const outside = await annotated('state');
    const refusal = { code: 'sync.ProfileInvalid', message: /pages\/site / };
    const plain = { ...target, profile: { mappings: [mappingOf('site', 'pages/site'), mappingOf('other', '.')] } };
    await deliverAndExit(usual(), plain);
    await moveByHand(outside, plain, volume);
    await outside.sync(plain);
    await assert.rejects(outside.sync(target), refusal);
    assert.deepEqual(served(outside).sort(), ['pages', 'x']);
    await outside.removeTrees();
    assert.deepEqual(fs.readdirSync(at('state/trees')), []);
  });
});
