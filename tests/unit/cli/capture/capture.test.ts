import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { CaptureInput } from '../../../../cli/capture/capture-files.ts';
import { type Edit, WorkTree } from '../../../../cli/capture/work-tree.ts';
import { CheckoutGit } from '../../../../cli/checkout/checkout-git.ts';
import { INSPECTION } from '../../../../shared/api/inspection.ts';
import { slow } from '../../../support/depth.ts';
import { captureWorld, filesIn, refusedIn } from './capture-world.ts';

const mapping = (source: string, destination: string, more: object = {}) => ({ source, destination, ...more });
const FILES = { 'config/a.txt': 'one\ntwo\nthree\nfour\nfive\n', 'config/b.txt': 'b\n', 'config/c.txt': 'c\n' };
const arrange = (t: TestContext, files = {}, profile = {}) =>
  captureWorld(t, { ...FILES, ...files }, { mappings: [mapping('config', 'etc')], ...profile });

suite('a captured file', () => {
  test('is the file on the gateway, at its place in the repository', async (t) => {
    const world = await arrange(t);
    await world.edit('etc/a.txt', 'by hand\n');
    await world.edit('etc/b.txt', '\0\u0001');
    await world.edit('etc/new/n.txt', 'new\n');
    await chmod(world.at('etc/c.txt'), 0o755);
    const taken = await world.take();
    assert.deepEqual(refusedIn(taken), {});
    await world.put(taken);
    const expected = ' M config/a.txt\0 M config/b.txt\0 M config/c.txt\0?? config/new/\0';
    assert.equal(await world.git('status', '--porcelain', '-z'), expected);
    assert.equal(await world.inClone('config/a.txt'), 'by hand\n');
    assert.equal(await world.inClone('config/b.txt'), '\0\u0001');
    assert.equal(await world.inClone('config/new/n.txt'), 'new\n');
    assert.equal(await world.git('diff', '--summary'), ' mode change 100644 => 100755 config/c.txt\n');
    assert.deepEqual((await readdir(path.join(world.clone, 'config'))).sort(), ['a.txt', 'b.txt', 'c.txt', 'new']);
  });

  test("keeps git's values where patches and --ignore-keys say so", async (t) => {
    const patches = [{ file: '*.json', set: { name: '{{ .GatewayName }}', 'a.b': '1' } }];
    const files = {
      'config/p.json': '{"name": "x", "n": 1}',
      'config/q.json': '{\n  "n": 1\n}\n',
      'config/w.json': '{"name": "x", "n": 1}',
      'plain/r.json': '{"attributes": {"a/b": 1, "n": 1}}',
      'plain/noise.json': '{"attributes": {"a/b": 1}}',
    };
    const mappings = [mapping('config', 'etc', { patches }), mapping('plain', 'plain')];
    const world = await arrange(t, files, { mappings: [...mappings] });
    await world.edit('etc/p.json', '{"name": "edge", "n": 2, "a": {"b": 1}}');
    await world.edit('etc/q.json', '{\n  "n": 2,\n  "a": {"b": 1},\n  "name": "edge"\n}\n');
    await world.edit('etc/w.json', '{"name": "another name", "n": 2, "a": {"b": 1}}');
    await world.edit('plain/r.json', '{"attributes": {"a/b": 2, "n": 2}}');
    await world.edit('plain/noise.json', '{"attributes": {"a/b": 3, "added": 1}}');
    const ignored = [
      ['attributes', 'a/b'],
      ['attributes', 'added'],
    ];
    const taken = await world.take({ ignored });
    assert.deepEqual(refusedIn(taken), { 'etc/w.json': 'inexact' });
    assert.deepEqual(filesIn(taken), {
      'config/p.json': '{"name": "x", "n": 2}',
      'config/q.json': '{\n  "n": 2\n}\n',
      'plain/r.json': '{"attributes": {"a/b": 1, "n": 2}}',
      'plain/noise.json': '{"attributes": {"a/b": 1}}',
    });
    const results = await world.put(taken);
    assert.deepEqual(results.map(({ kind }) => kind).sort(), ['edit', 'edit', 'edit', 'unchanged']);
  });

  test('can be in a tree that changes at once', slow, async (t) => {
    const world = await arrange(t, {}, { mappings: [mapping('config', 'site/etc', { publish: 'atomic' })] });
    await world.edit('site/etc/a.txt', 'by hand\n');
    await world.edit('site/etc/new/n', 'new\n');
    assert.deepEqual(filesIn(await world.take()), { 'config/a.txt': 'by hand\n', 'config/new/n': 'new\n' });
  });

  test('can be reached through a link in the repository, but not be new behind it', slow, async (t) => {
    const link = { symlink: '../shared' };
    const world = await arrange(t, { 'shared/s': '1', 'config/linked': link });
    await world.edit('etc/linked/s', 'edited');
    assert.deepEqual(filesIn(await world.take()), { 'shared/s': 'edited' });
    await world.edit('etc/linked/n', 'new');
    const taken = await world.take();
    assert.equal(filesIn(taken)['shared/n'], undefined);
    for (const result of await world.put(taken)) assert.notEqual(result.kind, 'unchanged');
    assert.equal(await world.git('status', '--porcelain'), ' M shared/s\n');
  });

  test('goes to the mapping that names the gateway, or to the specified one', async (t) => {
    const layers = ['base', 'other', 'gateways/{{ .GatewayName }}'].map((source) => mapping(source, 'etc'));
    const files = { 'base/a': '1', 'other/b': '1', 'gateways/edge/c': '1', 'config/a.txt': '', 'one.txt': '1' };
    const world = await arrange(t, files, { mappings: [...layers, mapping('one.txt', 'etc/single/')] });
    await world.edit('etc/n', 'new');
    await world.edit('etc/a', 'edited');
    assert.deepEqual(filesIn(await world.take()), { 'base/a': 'edited', 'gateways/edge/n': 'new' });
    assert.deepEqual(filesIn(await world.take({ to: '1' })), { 'other/a': 'edited', 'other/n': 'new' });
    const named = await world.take({ to: 'gateways/{{ .GatewayName }}' });
    assert.deepEqual(filesIn(named), { 'gateways/edge/a': 'edited', 'gateways/edge/n': 'new' });
    const hidden = await world.take({ to: 'nowhere' });
    assert.deepEqual(refusedIn(hidden), { 'etc/a': 'noMapping', 'etc/n': 'noMapping' });
    await world.edit('etc/b', 'edited');
    assert.equal(refusedIn(await world.take({ to: 'base' }))['etc/b'], 'unplanned', 'the next mapping is above');

    const two = await arrange(t, { 'x/a': '', 'y/b': '' }, { mappings: [mapping('x', 'etc'), mapping('y', 'etc')] });
    await two.edit('etc/n', 'new');
    assert.deepEqual(refusedIn(await two.take()), { 'etc/n': 'ambiguous' });
  });

  test('is merged with later commits, and conflicts stay for the user', async (t) => {
    const world = await arrange(t, { 'config/d.txt': 'd\n' });
    await world.edit('etc/a.txt', 'one\ntwo\nthree\nfour\nFIVE\n');
    await world.edit('etc/b.txt', 'on the gateway\n');
    await world.edit('etc/c.txt', 'same\n');
    await world.edit('etc/d.txt', 'edited\n');
    const later = { a: 'ONE\ntwo\nthree\nfour\nfive\n', b: 'in git\n', c: 'same\n' };
    for (const [name, content] of Object.entries(later)) await world.editClone(`config/${name}.txt`, content);
    await rm(path.join(world.clone, 'config/d.txt'));
    await world.git('commit', '--quiet', '-a', '-m', 'later');
    const taken = await world.take();
    const results = await world.put(taken);
    const said = results.map((each) => (each.kind === 'edit' ? each.edit.result : each.kind));
    assert.deepEqual(said, ['merged', 'conflict', 'unchanged', 'refused']);
    assert.equal(await world.inClone('config/a.txt'), 'ONE\ntwo\nthree\nfour\nFIVE\n');
    const conflict = '<<<<<<< HEAD\nin git\n=======\non the gateway\n>>>>>>> gateway\n';
    assert.equal(await world.inClone('config/b.txt'), conflict);
  });
});

suite('a capture refuses', () => {
  test('what it cannot reverse, and takes the rest', async (t) => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5\n`;
    const files = {
      'config/own.key': 'x',
      'config/gone': 'x',
      'config/pointer': pointer,
      'templates/t': 'of {{ .GatewayName }}',
      'shared/s': 'x',
    };
    const mappings = [
      mapping('config', 'etc'),
      mapping('templates', 'rendered', { template: true }),
      mapping('shared', 'one'),
      mapping('shared', 'two'),
    ];
    const world = await arrange(t, files, { mappings, excludePatterns: ['*.tmp', 'config/data/'] });
    for (const file of [
      'etc/a.txt',
      'etc/own.key',
      'etc/pointer',
      'rendered/t',
      'one/s',
      'one/n',
      'etc/x.tmp',
      'etc/data/x',
    ])
      await world.edit(file, 'edited\n');
    await rm(world.at('etc/gone'));
    await world.edit('rendered/new', 'of {{ .PodName }}');
    await world.edit('etc/tls.txt', '-----BEGIN PRIVATE KEY-----');
    await world.edit('elsewhere/x', 'of others');
    const taken = await world.take();
    assert.deepEqual(filesIn(taken), { 'config/a.txt': 'edited\n' });
    assert.deepEqual(refusedIn(taken), {
      'etc/own.key': 'secret',
      'etc/pointer': 'lfs',
      'etc/gone': 'deleted',
      'rendered/t': 'template',
      'rendered/new': 'inexact',
      'one/s': 'copies',
      'one/n': 'copies',
      'etc/x.tmp': 'excluded',
      'etc/data/x': 'excluded',
      'etc/tls.txt': 'secret',
    });
  });

  test('every path of a malicious agent that leads out of the checkout, into .git, or to a secret', async (t) => {
    const world = await arrange(t);
    const paths = [
      ...['../x', '/etc/x', 'etc/../../x', 'etc//x', 'etc/./x', 'etc/', '', '.', '..', 'etc/\0x', 'etc/a\nb', 'etc\\x'],
      ...[
        'etc/.git/hooks/post-checkout',
        'etc/.GIT/config',
        'etc/.g\u200cit/config',
        'etc/git~1/config',
        '.git/config',
      ],
      ...['etc/.sync-agent/x', 'etc/\ud800', `etc/${'x'.repeat(300)}`, `${'etc/'.repeat(200)}x`, 'outside/x', 'etc'],
    ];
    const hostile = [...paths, 'etc/a.txt'].flatMap((file): CaptureInput['changes'] =>
      (['add', 'modify'] as const).map((kind) => ({
        path: file,
        source: '../../outside',
        kind,
        reason: 'New',
        after: { executable: true, text: 'hostile\n' },
      })),
    );
    const taken = await world.take({}, hostile);
    assert.deepEqual(filesIn(taken), { 'config/a.txt': 'hostile\n' });
    assert.deepEqual([...new Set(taken.refused.map(({ code }) => code))].sort(), ['name', 'noMapping', 'unplanned']);
  });

  test('links on the way, and whatever git would ignore or convert', async (t) => {
    const attributes = '*.crlf text\n*.wide working-tree-encoding=UTF-16\n';
    const files = {
      '.gitattributes': attributes,
      '.gitignore': '*.log\n',
      'config/x.crlf': 'x\n',
    };
    const world = await arrange(t, files);
    for (const file of ['x.crlf', 'n.wide', 'app.log', 'linked/n', 'fine', ':(glob)*', '-n', '"q'])
      await world.edit(`etc/${file}`, 'a\r\n');
    const outside = path.join(world.sandbox.directory, 'outside');
    await mkdir(outside);
    await symlink(outside, path.join(world.clone, 'config/linked'));
    const taken = await world.take();
    assert.deepEqual(refusedIn(taken), {});
    const results = await world.put(taken);
    const said = results.map((each, index) => [
      taken.files[index]?.source,
      each.kind === 'refused' ? each.code : each.kind,
    ]);
    assert.deepEqual(Object.fromEntries(said), {
      'config/x.crlf': 'converted',
      'config/n.wide': 'converted',
      'config/app.log': 'ignored',
      'config/linked/n': 'link',
      'config/fine': 'edit',
      'config/:(glob)*': 'edit',
      'config/-n': 'edit',
      'config/"q': 'edit',
    });
    assert.deepEqual(await readdir(outside), []);
  });

  test('the files of submodules', slow, async (t) => {
    const world = await arrange(t);
    await world.git('clone', '--quiet', world.repository.path, path.join(world.clone, 'config/module'));
    await world.git('add', 'config/module');
    await world.git('commit', '--quiet', '-m', 'a submodule');
    const commitWithModules = (await world.git('rev-parse', 'HEAD')).trim();
    const after = { executable: false, text: 'edited\n' };
    const names = ['etc/module/config/a.txt', 'etc/a.txt'];
    const changes = names.map((file) => ({ path: file, kind: 'modify' as const, reason: 'Drifted', after }));
    const added = { path: 'etc/module/n', kind: 'add' as const, reason: 'New', after };
    const taken = await world.take({ commitWithModules }, [...changes, added]);
    assert.deepEqual(refusedIn(taken), { 'etc/module/config/a.txt': 'submodule', 'etc/module/n': 'submodule' });
    assert.deepEqual(filesIn(taken), { 'config/a.txt': 'edited\n' });
  });

  test('to lose anything that is not committed', async (t) => {
    const world = await arrange(t, { 'config/d.txt': 'd\n', 'config/e.txt': 'e\n' });
    const names = ['a', 'b', 'c', 'd', 'e', 'untracked'];
    for (const name of names) await world.edit(`etc/${name}.txt`, 'on the gateway\n');
    await world.editClone('config/a.txt', 'unsaved\n');
    await world.editClone('config/b.txt', 'staged\n');
    await world.git('add', 'config/b.txt');
    await world.editClone('config/b.txt', 'b\n');
    await world.git('update-index', '--assume-unchanged', 'config/c.txt');
    await world.editClone('config/c.txt', 'hidden from git status\n');
    await rm(path.join(world.clone, 'config/d.txt'));
    await world.editClone('config/untracked.txt', 'unsaved\n');
    const results = await world.put(await world.take());
    const said = results.map((each) => (each.kind === 'refused' ? each.code : each.kind));
    assert.deepEqual(said, ['dirty', 'dirty', 'dirty', 'dirty', 'edit', 'dirty']);
    assert.equal(await world.inClone('config/c.txt'), 'hidden from git status\n');
  });

  test('more bytes than one command can read', slow, async (t) => {
    const world = await arrange(t);
    for (const name of ['a', 'b']) await world.edit(`etc/${name}.txt`, '');
    const read: CaptureInput['read'] = async (_path, room) => {
      const content = Buffer.alloc(INSPECTION.readBytes - 10);
      return content.length <= room ? { kind: 'content', content } : { kind: 'leftOut', why: 'large' };
    };
    const changes = ['a', 'b', 'c'].map((name) => ({
      path: `etc/${name}.txt`,
      kind: 'modify' as const,
      reason: 'Drifted',
      after: { executable: false, ...(name === 'c' && { text: 'small' }) },
    }));
    const taken = await world.take({ read }, changes);
    assert.deepEqual(refusedIn(taken), { 'etc/b.txt': 'total' });
    assert.deepEqual(
      taken.files.map(({ source }) => source),
      ['config/a.txt', 'config/c.txt'],
    );
  });
});

test('a failure names the files that were written', slow, async (t) => {
  const world = await arrange(t);
  const tree = await WorkTree.open(world.checkout);
  const edits = ['config/a.txt', 'config/b.txt/x'].map(
    (source): Edit => ({ source, paths: [], result: 'captured', content: Buffer.from('x'), executable: false }),
  );
  await assert.rejects(tree.write(edits), { code: 'FileUnusable', message: /written before: config\/a\.txt$/ });
  assert.equal(await world.git('status', '--porcelain'), ' M config/a.txt\n');
});

test('git runs no program of the repository or the environment, and writes nowhere else', async (t) => {
  const world = await arrange(t);
  const mark = path.join(world.sandbox.directory, 'mark');
  await writeFile(path.join(world.clone, '.git/hooks/post-checkout'), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  const environment = {
    ...process.env,
    GIT_DIR: '/nonexistent',
    GIT_WORK_TREE: '/nonexistent',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.fsmonitor',
    GIT_CONFIG_VALUE_0: `touch ${mark}`,
  };
  const git = await CheckoutGit.find(path.join(world.clone, 'config'), environment);
  assert.equal(git.directory, world.clone);
  await git.run(['switch', '--quiet', '-c', 'other']);
  await git.run(['status']);
  assert.ok(!(await readdir(world.sandbox.directory)).includes('mark'));
  await assert.rejects(CheckoutGit.find(world.sandbox.data, environment), { code: 'CheckoutInvalid' });
});
