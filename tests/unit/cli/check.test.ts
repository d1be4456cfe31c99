import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { FileChange } from '../../../scripts/testbed/fast-import.ts';
import { git } from '../../../scripts/testbed/git-command.ts';
import { slow } from '../../support/depth.ts';
import { runCli } from '../../support/run-cli.ts';
import { gitSandbox } from '../agent/support/git-sandbox.ts';

const mapping = (source: string, destination: string, more: object = {}) => {
  return { source, destination, required: true, template: false, ...more };
};

const profile = {
  mappings: [
    mapping('shared', 'config', { patches: [{ file: 'a.json', set: { port: '{{ .Vars.port }}' } }] }),
    mapping('sites/{{ .GatewayName }}', 'config', { template: true }),
  ],
  excludePatterns: ['*.bak'],
  vars: { port: '8443' },
  checks: [{ files: '**/*.json', format: 'json' as const }],
};

const files: Record<string, FileChange> = {
  'shared/a.json': '{"port": 1}',
  'shared/b.bak': 'x',
  'shared/run.sh': { content: '#!/bin/sh\n', executable: true },
  'sites/edge/c.json': '{"name": "{{ .GatewayName }}", "ref": "{{ .Ref }}", "at": "{{ .Commit }}"}',
  'sites/other/d': '1',
  'README.md': 'x',
};

/** A repository, a checkout of it, and an agent that can sync it. */
async function startRepository(t: TestContext, given = files) {
  const { repo, commit, repository, sandbox } = await gitSandbox(t, 'check', {});
  const id = await commit({ files: given });
  const checkout = path.join(sandbox.directory, 'checkout');
  await git(sandbox.directory, ['clone', '-q', repository.path, checkout]);
  const output = path.join(sandbox.directory, 'tree');
  const check = (more: string[] = [], settings: object = profile, others: { defaults?: object; git?: object } = {}) => {
    const { defaults = {}, git = { ref: 'main' } } = others;
    const sync = { defaults, profiles: { default: settings } };
    const spec = { git: { repo, ...git }, gateway: { port: 8080 }, sync };
    const manifest = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { name: 'gw' }, spec };
    return runCli(['check', '-f', '-', ...more, checkout], { input: async () => JSON.stringify(manifest) });
  };
  return { target: { repo, commit: id, profile }, commit, sandbox, checkout, output, check };
}

/** The files of a directory, with their modes; links with their targets. */
async function readTree(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => path.join(entry.parentPath, entry.name));
  const pairs = paths
    .filter((file) => !file.includes('/.sync-agent/'))
    .sort()
    .map(async (file) => {
      const entry = await lstat(file);
      const isLink = entry.isSymbolicLink();
      const content = isLink ? await readlink(file) : await readFile(file, 'utf8');
      return [path.relative(root, file), `${isLink ? '->' : (entry.mode & 0o777).toString(8)} ${content}`] as const;
    });
  return Object.fromEntries(await Promise.all(pairs));
}

suite('kubectl stoker check', () => {
  test('finds files in the directory of its user if npm runs it from a checkout of this project', slow, async (t) => {
    const { checkout } = await startRepository(t);
    const mappings = [{ source: 'shared', destination: 'config' }];
    const spec = { git: { repo: 'https://git.example.com/x.git' }, sync: { profiles: { default: { mappings } } } };
    const manifest = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { name: 'gw' }, spec };
    await writeFile(path.join(checkout, 'gatewaysync.yaml'), JSON.stringify(manifest));
    const project = path.join(import.meta.dirname, '../../..');
    const words = ['--prefix', project, 'run', '--silent', 'stoker', '--', 'check', '-f', 'gatewaysync.yaml', '.'];
    const { stderr } = await promisify(execFile)('npm', words, { cwd: checkout });
    assert.match(stderr, /^3 .*\b0\b.*\n$/);
  });

  const crlf = { ...files, '.gitattributes': '*.txt text eol=crlf\n', 'shared/a.txt': '1\n2\n', 'shared/b.txt': '' };
  const links = { 'sites/file': '1', 'sites/a': { symlink: 'file' }, 'sites/b': { symlink: '/opt/x/y' } };
  const kept = mapping('sites', 'config', { links: 'keep', linkPrefixes: ['/opt/x'] });
  const modes = [mapping('shared', 'config', { mode: '0600' }), mapping('shared/b.bak', 'b', { mode: '0444' })];
  const delivered: [what: string, given: Record<string, FileChange>, settings: object, some: Record<string, string>][] =
    [
      ['patches, templates, and executable files', files, profile, { 'config/a.json': '644 {"port": 8443}' }],
      ['the mode of a mapping', files, { ...profile, mappings: modes, excludePatterns: [] }, { b: '444 x' }],
      ['the line endings that git stores', crlf, profile, { 'config/a.txt': '644 1\n2\n' }],
      ['symbolic links that are kept', links, { mappings: [kept] }, { 'config/b': '-> /opt/x/y' }],
    ];
  for (const [what, given, settings, some] of delivered) {
    test(`writes exactly what an agent delivers, with ${what}`, slow, async (t) => {
      const { target, sandbox, output, check } = await startRepository(t, given);
      const { status, notes } = await check(['--gateway', 'edge', '--output', output], settings);
      assert.equal(status, 0, notes);
      await sandbox.sync({ ...target, profile: settings as typeof profile });
      const tree = await readTree(output);
      assert.deepEqual(tree, await readTree(sandbox.data));
      assert.partialDeepStrictEqual(tree, some);
    });
  }

  test('lists the mode of a mapping, and refuses one that others could write', async (t) => {
    const { check } = await startRepository(t);
    const { output } = await check([], { mappings: modes });
    assert.match(output, /^config\/run\.sh +0600 +shared\/run\.sh$/m);
    const { status, notes } = await check([], { mappings: [mapping('shared', 'config', { mode: '0666' })] });
    assert.deepEqual([status, /mappings\[0\]\.mode: /.test(notes)], [1, true], notes);
  });

  test('gives new directories the usual mode with any umask', async (t) => {
    const { output, check } = await startRepository(t);
    const directory = path.join(output, 'new');
    const umask = process.umask(0o077);
    t.after(() => process.umask(umask));
    assert.equal((await check(['--gateway', 'edge', '--output', directory])).status, 0);
    const directories = [output, directory, path.join(directory, 'config')];
    for (const each of directories) assert.equal((await stat(each)).mode & 0o777, 0o755, each);
  });

  test('lists the files with their sources', async (t) => {
    const { check } = await startRepository(t);
    const labels = ['--label', 'tier=x', '--label', 'app.kubernetes.io/name=edge'];
    const { status, output, notes } = await check(labels);
    assert.equal(status, 0);
    assert.match(notes, /^3 .*\b2\b.*\n$/);
    assert.deepEqual(output.trim().replaceAll(/ {2,}/g, ' ').split('\n'), [
      'PATH MODE SOURCE',
      'config/a.json 0644 shared/a.json',
      'config/c.json 0644 sites/edge/c.json',
      'config/run.sh 0755 shared/run.sh',
    ]);
  });

  test('lists all problems, and writes nothing', async (t) => {
    const broken = { ...files, 'sites/edge/c.json': '{', 'sites/edge/d.json': '[1,]' };
    const { output, check } = await startRepository(t, broken);
    const { status, notes } = await check(['--gateway', 'edge', '--output', output]);
    assert.equal(status, 1);
    assert.match(notes, /^sites\/edge\/c\.json: line 1, column 2: .*\nsites\/edge\/d\.json: line 1, column 4: .*\n$/);
    await assert.rejects(stat(output), { code: 'ENOENT' });
  });

  const jsonIn = (glob: string) => ({ files: glob, format: 'json' });
  const typos = { cheks: [], mappings: [...profile.mappings, mapping('shared', 'x', { patch: [] })] };
  for (const [what, more, settings, words] of [
    ['a source that is missing', ['--gateway', 'none'], {}, / sites\/none/],
    ['a label that a template needs', [], { mappings: [mapping('{{ .Labels.tier }}', '.')] }, /Labels\.tier/],
    ['an unknown profile', ['--profile', 'x'], {}, /^error: .* x, .* default\n/],
    ['a label without a value', ['--label', 'x'], {}, /^error: --label .*\bx\n/],
    [
      'checks that match no file, with those that fail',
      ['--gateway', 'edge'],
      { checks: ['*.json', 'config/*.sh', 'etc/*'].map(jsonIn) },
      /^shared\/run\.sh: .*\n.*checks\[0\]\.files: \*\.json .*; write \*\*\/\*\.json for .*\n.*checks\[2\]\.files: .*\n$/,
    ],
    ['unknown fields', [], typos, /^error: .*: spec\.sync\.profiles\.default\.mappings\[2\]\.patch, spec\..*\.cheks\n/],
    ['a spec that the API server rejects', [], { mappings: [] }, /^error: .*: spec\.sync\.pro/],
  ] as const) {
    test(`reports ${what}`, async (t) => {
      const { check } = await startRepository(t);
      const { status, notes } = await check([...more], { ...profile, ...settings });
      assert.notEqual(status, 0);
      assert.match(notes, words);
    });
  }

  test('only mentions a default check that matches no file, because another profile might need it', async (t) => {
    const { check } = await startRepository(t);
    const { checks: _, ...inheriting } = profile;
    const defaults = { checks: [{ files: '**/*.toml', format: 'toml' }] };
    const { status, notes } = await check(['--gateway', 'edge'], inheriting, { defaults });
    assert.equal(status, 0);
    assert.match(notes, /^note: defaults\.checks\[0\]\.files: \*\*\/\*\.toml .*\n3 .*\b0\b.*\n$/);
  });

  test('checks the whole checkout, from any directory in it', async (t) => {
    const { checkout } = await startRepository(t);
    const manifest = { kind: 'GatewaySync', metadata: { name: 'gw' } };
    const sync = { profiles: { default: profile } };
    const text = JSON.stringify({ ...manifest, spec: { git: { repo: 'https://git.example.com/a', ref: 'x' }, sync } });
    const input = async () => text;
    const words = ['check', '-f', '-', '--gateway', 'edge', path.join(checkout, 'sites/edge')];
    assert.match((await runCli(words, { input })).notes, /^3 /);
  });

  test('takes the tag that a range chooses, for {{ .Ref }}', async (t) => {
    const { output, check } = await startRepository(t);
    const range = { git: { semver: '~1.4' } };
    const without = await check(['--gateway', 'edge'], profile, range);
    assert.match(without.notes, /^note: .*~1\.4.*--ref/);
    const { notes } = await check(['--gateway', 'edge', '--ref', 'v1.4.2', '--output', output], profile, range);
    assert.doesNotMatch(notes, /note/);
    assert.match((await readTree(output))['config/c.json'] ?? '', /"ref": "v1\.4\.2"/);
  });

  test('reads files on disk, without those that git ignores or that became links', async (t) => {
    const { checkout, check } = await startRepository(t);
    await writeFile(path.join(checkout, 'shared/untracked'), 'x');
    await writeFile(path.join(checkout, 'shared/a.json'), '{');
    const changed = await check(['--gateway', 'edge']);
    assert.match(changed.notes, /^shared\/a\.json .*JSON/);
    await git(checkout, ['rm', '-q', '--cached', 'shared/a.json']);
    await git(checkout, ['rm', '-q', '--cached', 'shared/run.sh']);
    await writeFile(path.join(checkout, 'shared/a.json'), '{}');
    await git(checkout, ['add', 'shared/a.json']);
    const { output } = await check(['--gateway', 'edge']);
    assert.doesNotMatch(output, /untracked|run\.sh/);
    await symlink('/etc/passwd', path.join(checkout, 'sites/edge/e'));
    await git(checkout, ['add', 'sites/edge/e']);
    const link = await check(['--gateway', 'edge']);
    assert.match(link.notes, /sites\/edge\/e -> \/etc\/passwd /);
    const refused = await check(['--gateway', 'edge'], { ...profile, links: 'refuse' });
    assert.match(refused.notes, /sites\/edge\/e (?!->)/);
  });

  test('follows symbolic links as an agent does, but to the targets on disk', async (t) => {
    const links = {
      'releases/2/a': 'a2',
      'releases/2/run': { content: 'run', executable: true },
      'releases/3/a': 'a3',
      current: { symlink: 'releases/2' },
      'sites/a': { symlink: '../current/a' },
      'sites/all': { symlink: '../current' },
    };
    const { target, sandbox, output, checkout, check } = await startRepository(t, links);
    const linked = { mappings: [mapping('current', 'c'), mapping('sites', 's')] };
    assert.equal((await check(['--output', output], linked)).status, 0);
    await sandbox.sync({ ...target, profile: linked });
    const tree = await readTree(output);
    assert.deepEqual(tree, await readTree(sandbox.data));
    assert.equal(tree['s/all/run'], '755 run');
    await rm(path.join(checkout, 'current'));
    await symlink('releases/3', path.join(checkout, 'current'));
    const { output: rows } = await check([], linked);
    assert.match(rows, /s\/all\/a +0644 +releases\/3\/a\n/);
    await rm(path.join(checkout, 'current'));
    assert.match((await check([], linked)).notes, /ENOENT/);
  });

  test('follows symbolic links into submodules that are checked out, but not out of them', async (t) => {
    const { commit, checkout, check } = await startRepository(t, { 'd/l': { symlink: '../lib/dir' }, x: 'x' });
    await commit({ files: { lib: { submodule: '1'.repeat(40) } } });
    await git(checkout, ['pull', '-q', '--ff-only']);
    const settings = { mappings: [mapping('d', '.')] };
    assert.match((await check([], settings)).notes, /\blib, .*spec\.git\.submodules: true/);
    const submodules = { git: { ref: 'main', submodules: true } };
    const missing = await check([], settings, submodules);
    assert.match(missing.notes, /\n.*: lib; .*git/);
    const lib = path.join(checkout, 'lib');
    await git(checkout, ['init', '-q', lib]);
    await mkdir(path.join(lib, 'dir/sub'), { recursive: true });
    for (const file of ['dir/a', 'dir/sub/b']) await writeFile(path.join(lib, file), file);
    await git(lib, ['add', '.']);
    const { output } = await check([], settings, submodules);
    assert.match(output, /l\/a +0644 +lib\/dir\/a\nl\/sub\/b +0644 +lib\/dir\/sub\/b\n/);
    await symlink('../../x', path.join(lib, 'dir/out'));
    await git(lib, ['add', '.']);
    assert.match((await check([], settings, submodules)).notes, /d\/l\/out -> \.\.\/\.\.\/x \(outside submodule lib\)/);
  });

  test('never mixes the files with others, and needs a checkout', async (t) => {
    const { sandbox, output, check } = await startRepository(t);
    await mkdir(output);
    await writeFile(path.join(output, 'x'), '1');
    const mixed = await check(['--gateway', 'edge', '--output', output]);
    assert.match(mixed.notes, /isn't empty/);
    const none = await runCli(['check', '-f', '/dev/null', sandbox.data]);
    assert.match(none.notes, /^error: .*GatewaySync/);
  });
});
