import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type GitServer, startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { omit } from '../../../../shared/domain/objects.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { gitSandbox } from '../support/git-sandbox.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

let repositories = 0;
const createRepository = () => server.createRepository(`sync-${++repositories}`);

const mapping = (source: string, destination: string, more: object = {}) =>
  ({ source, destination, required: true, template: false, ...more }) as ResolvedProfile['mappings'][number];

suite('a sync', () => {
  test('delivers the tree, then has nothing to do or fetch', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const target = { repo, commit: await commit({ files: { a: '1', 'b/c': '2', 'b/leer': '' } }) };
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: '1', 'b/c': '2', 'b/leer': '' });
    const requests = server.requests.length;
    const { plan } = await sandbox.sync(target);
    assert.deepEqual([plan.changes, plan.unchanged], [[], 3]);
    await sandbox.restart();
    assert.deepEqual((await sandbox.sync(target)).plan.changes, []);
    assert.equal(server.requests.length, requests);
  });

  test('records the revision on disk, even if it changes no file', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const target = { repo, commit: await commit({ files: { a: '1' } }) };
    const manifest = path.join(sandbox.data, '.sync-agent/manifest.jsonl');
    const noted = async () => JSON.parse((await readFile(manifest, 'utf8')).trim().split('\n').at(-1) ?? '').applied;
    for (const more of [{ revision: 'r1' }, { revision: 'r2' }, {}]) {
      await sandbox.sync({ ...target, ...more });
      const applied = omit(await noted(), 'time', 'recipe');
      assert.deepEqual(applied, { ref: 'main', commit: target.commit, ...more });
    }
    const text = await readFile(manifest, 'utf8');
    await sandbox.sync(target);
    assert.equal(await readFile(manifest, 'utf8'), text, 'and then there is nothing to note');
  });

  test('changes types and modes between commits', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const first = await commit({ files: { x: 'file', 'y/a/b': 'deep', run: { content: '#!', executable: true } } });
    await sandbox.sync({ repo, commit: first });
    assert.equal((await stat(path.join(sandbox.data, 'run'))).mode & 0o777, 0o755);
    const second = await commit({ files: { x: null, 'x/in': 'folder', 'y/a/b': null, y: 'file', run: '#!' } });
    await sandbox.sync({ repo, commit: second });
    assert.deepEqual(await sandbox.files(), { run: '#!', 'x/in': 'folder', y: 'file' });
    assert.equal((await stat(path.join(sandbox.data, 'run'))).mode & 0o777, 0o644);
    await sandbox.sync({ repo, commit: first });
    assert.deepEqual(await sandbox.files(), { run: '#!', x: 'file', 'y/a/b': 'deep' });
  });

  test('detects drift in content and mode, and repairs it without a fetch', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const target = { repo, commit: await commit({ files: { a: '1', b: '2', c: '3', d: '4', e: '5' } }) };
    await sandbox.sync(target);
    const at = (name: string) => path.join(sandbox.data, name);
    await writeFile(at('a'), 'x');
    await rm(at('b'));
    await chmod(at('c'), 0o755);
    await utimes(at('d'), 0, 0);
    await rm(at('e'));
    await symlink('/etc/passwd', at('e'));
    const { plan } = await sandbox.sync(target);
    const repaired = plan.changes.map(({ path: file, reason }) => `${file} ${reason}`);
    assert.deepEqual(repaired, ['a Drifted', 'b Missing', 'c Drifted', 'e Drifted']);
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2', c: '3', d: '4', e: '5' });
    assert.equal(sandbox.fetches, 1);
  });

  test('of a commit soon after a check compares only changed files; the next check finds drift', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await sandbox.sync({ repo, commit: await commit({ files: { a: '1', b: '1' } }) });
    await writeFile(path.join(sandbox.data, 'a'), 'x');
    const target = { repo, commit: await commit({ files: { b: '2' } }) };
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: 'x', b: '2' });
    assert.equal((await sandbox.sync(target)).plan.changes[0]?.reason, 'Drifted');
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2' });
  });

  for (const kept of ['prune: false', 'an optional source'] as const) {
    test(`keeps a template as it was rendered if ${kept} retains it, even for another commit`, slow, async (t) => {
      const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
      const mapping = { required: true, template: true };
      const profile = {
        prune: kept !== 'prune: false',
        mappings: [
          { ...mapping, source: 'a', destination: 'a' },
          { ...mapping, source: 'b', destination: 'b', required: false },
        ],
      };
      const gone = kept === 'prune: false' ? 'a/t' : 'b/t';
      const first = await commit({ files: { [gone]: '{{ .Commit }}', 'a/k': '1' } });
      await sandbox.sync({ repo, profile, commit: first });
      await sandbox.sync({ repo, profile, commit: await commit({ files: { [gone]: null, 'a/k': '2' } }) });
      const { plan } = await sandbox.sync({ repo, profile, commit: await commit({ files: { 'a/k': '3' } }) });
      assert.deepEqual(
        plan.changes.map((change) => change.path),
        ['a/k'],
      );
      assert.deepEqual(await sandbox.files(), { [gone]: first, 'a/k': '3' });
    });
  }

  test('removes directories with their files, even soon after a check', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await sandbox.sync({ repo, commit: await commit({ files: { a: '1', 'b/c/d': '1', 'b/e': '1', x: '1' } }) });
    await mkdir(path.join(sandbox.data, 'b/own'));
    const moved = await commit({ files: { a: null, 'b/c/d': null, 'f/g/d': '1', x: '#2' } });
    const { plan } = await sandbox.sync({ repo, commit: moved });
    assert.deepEqual(plan.changes.map(({ kind, path: file }) => `${kind} ${file}`).sort(), [
      'add f/g/d',
      'delete a',
      'delete b/c/d',
      'modify x',
    ]);
    assert.equal(plan.unchanged, 1);
    assert.deepEqual((await readdir(sandbox.data)).sort(), ['.sync-agent', 'b', 'f', 'x']);
    assert.deepEqual((await readdir(path.join(sandbox.data, 'b'))).sort(), ['e', 'own']);
    await sandbox.restart();
    assert.deepEqual((await sandbox.sync({ repo, commit: moved })).plan.changes, []);
  });

  test('turns a file into a directory and back, soon after a check', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const files = [
      { a: '1', b: '1' },
      { a: null, 'a/b': '2' },
      { 'a/b': null, a: '3' },
    ];
    for (const change of files) await sandbox.sync({ repo, commit: await commit({ files: change }) });
    assert.deepEqual(await sandbox.files(), { a: '3', b: '1' });
  });

  test('renders a template that names the commit each time, even if nothing else changes', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const profile = { mappings: [mapping('a', 'a', { template: true })] };
    const first = await commit({ files: { 'a/x': '{{ .Commit }}', 'a/y': 'same', other: '1' } });
    await sandbox.sync({ repo, commit: first, profile });
    const second = await commit({ files: { other: '2' } });
    const { plan } = await sandbox.sync({ repo, commit: second, profile });
    assert.deepEqual([plan.changes.map(({ path: file }) => file), plan.unchanged], [['a/x'], 1]);
    assert.deepEqual(await sandbox.files(), { 'a/x': second, 'a/y': 'same' });
  });

  test("rejects a commit that can't be delivered, even soon after a check", async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await sandbox.sync({ repo, commit: await commit({ files: { a: '1', b: '1' } }) });
    const second = await commit({ files: { b: '2', l: { symlink: 'c' } } });
    await assert.rejects(sandbox.sync({ repo, commit: second }), /l -> c \(no such file/);
    assert.deepEqual(await sandbox.files(), { a: '1', b: '1' });
    await sandbox.sync({ repo, commit: await commit({ files: { b: '3', l: null } }) });
    assert.deepEqual(await sandbox.files(), { a: '1', b: '3' });
  });

  test('applies a changed profile to the same commit', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const target = {
      repo,
      commit: await commit({ files: { 'a/x': '1', 'b/y': 'n={{ .Vars.n }}', 'b/bin': 'a\0{{ .No }}' } }),
    };
    await sandbox.sync({ ...target, profile: { mappings: [mapping('a', 'p')] } });
    assert.deepEqual(await sandbox.files(), { 'p/x': '1' });
    const profile = { mappings: [mapping('b', 'q', { template: true })], vars: { n: '1' } };
    await sandbox.sync({ ...target, profile });
    assert.deepEqual(await sandbox.files(), { 'q/bin': 'a\0{{ .No }}', 'q/y': 'n=1' });
    const { plan } = await sandbox.sync({ ...target, profile: { ...profile, vars: { n: '2' } } });
    assert.deepEqual(
      plan.changes.map(({ path: file, reason }) => `${file} ${reason}`),
      ['q/y ValuesChanged'],
    );
    assert.deepEqual(await sandbox.files(), { 'q/bin': 'a\0{{ .No }}', 'q/y': 'n=2' });
  });

  for (const [what, more, words] of [
    ['a template', { template: true }, /^a\.properties: byte 6 isn't UTF-8, so the \{\{ at byte 15 /],
    [
      'a patch',
      { patches: [{ file: '', set: { a: '1' } }] },
      /^a\.properties cannot be patched: it isn't UTF-8 at byte 6$/,
    ],
  ] as const) {
    test(`rejects ${what} in text that isn't UTF-8, with its file and byte, even in a dry run`, async (t) => {
      const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
      const content = Buffer.from('city=K\xf6ln\nname={{ .GatewayName }}\n', 'latin1');
      const target = { repo, commit: await commit({ files: { 'a.properties': content, b: '1' } }) };
      const mappings = [mapping('a.properties', 'a.properties', more), mapping('b', 'b')];
      for (const dryRun of [true, false]) {
        const refusal = { name: 'TerminalError', reason: 'ContentInvalid', message: words };
        await assert.rejects(sandbox.sync({ ...target, profile: { mappings, dryRun } }), refusal);
      }
      assert.deepEqual(await sandbox.files(), {});
    });
  }

  test('patches JSON byte by byte, again when a value changes, and repairs drift of it', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const json = '{\n  "id": 12345678901234567890,\n  "name": "x", "port":1\n}\n';
    const target = { repo, commit: await commit({ files: { 'c/a.json': json, 'c/d/b.json': json, 'c/e': json } }) };
    const patches = [
      { file: '**/*.json', set: { name: '{{ .GatewayName }}' } },
      { file: 'a.json', set: { port: '{{ .Vars.port }}' } },
    ];
    const profile = (port: string) => ({ mappings: [mapping('c', '.', { patches })], vars: { port } });
    const expected = (port: string) => ({
      'a.json': json.replace('"x"', '"edge"').replace('"port":1', `"port":${port}`),
      'd/b.json': json.replace('"x"', '"edge"'),
      e: json,
    });
    await sandbox.sync({ ...target, profile: profile('2') });
    assert.deepEqual(await sandbox.files(), expected('2'));
    await sandbox.restart();
    assert.deepEqual((await sandbox.sync({ ...target, profile: profile('2') })).plan.changes, []);
    const { plan } = await sandbox.sync({ ...target, profile: profile('3') });
    assert.deepEqual(
      plan.changes.map(({ path: file, reason }) => `${file} ${reason}`),
      ['a.json PatchesChanged'],
    );
    await writeFile(path.join(sandbox.data, 'a.json'), json);
    assert.equal((await sandbox.sync({ ...target, profile: profile('3') })).plan.changes[0]?.reason, 'Drifted');
    assert.deepEqual(await sandbox.files(), expected('3'));
    await sandbox.sync({ ...target, profile: { mappings: [mapping('c', '.')] } });
    assert.deepEqual(await sandbox.files(), { 'a.json': json, 'd/b.json': json, e: json });
  });

  test('changes nothing in a dry run', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await writeFile(path.join(sandbox.data, 'a'), 'theirs');
    const outcome = await sandbox.sync({
      repo,
      commit: await commit({ files: { a: '1' } }),
      profile: { dryRun: true },
    });
    assert.equal(outcome.kind, 'planned');
    assert.deepEqual(
      outcome.plan.changes.map(({ reason }) => reason),
      ['TakenOver'],
    );
    assert.deepEqual(await sandbox.files(), { a: 'theirs' });
  });

  test('lists in a dry run what it would change, and no file whose content stays the same', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const patches = [{ file: '*.json', set: { name: '{{ .GatewayName }}' } }];
    const profile = (vars: Record<string, string>) => ({
      mappings: [mapping('t', 't', { template: true }), mapping('j', 'j', { patches })],
      vars,
    });
    const first = {
      't/both': '{{ .Vars.a }}{{ .Vars.b }}',
      't/one': '{{ .Vars.a }}',
      'j/a.json': '{"name": "x"}',
      'j/b.json': '{"name": "x", "n": 1}',
    };
    await sandbox.sync({ repo, commit: await commit({ files: first }), profile: profile({ a: '1', b: '12' }) });
    await mkdir(path.join(sandbox.data, 'j'), { recursive: true });
    await writeFile(path.join(sandbox.data, 'j/c.json'), '{"name":"edge"}');
    const second = { 'j/a.json': '{"name": "y"}', 'j/b.json': '{"name": "y", "n": 2}', 'j/c.json': '{"name":"?"}' };
    const target = { repo, commit: await commit({ files: second }), profile: profile({ a: '11', b: '2' }) };
    const before = await sandbox.files();
    const rehearsed = await sandbox.sync({ ...target, profile: { ...target.profile, dryRun: true } });
    assert.deepEqual(await sandbox.files(), before);
    const { plan } = await sandbox.sync(target);
    assert.deepEqual(plan.changes, rehearsed.plan.changes);
    const after = await sandbox.files();
    const changed = Object.keys(after).filter((file) => after[file] !== before[file]);
    assert.deepEqual(plan.changes.map((change) => change.path).sort(), changed);
    assert.deepEqual(changed, ['j/b.json', 't/one']);
    assert.deepEqual((await sandbox.sync(target)).plan.changes, []);
    await writeFile(path.join(sandbox.data, 'j/a.json'), '{"name": "x"}');
    assert.deepEqual((await sandbox.sync(target)).plan.changes[0]?.reason, 'Drifted');
  });

  test('streams a large file', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const large = Buffer.alloc(96 * 1024 * 1024, 'large\n');
    const target = {
      repo,
      commit: await commit({ files: { large } }),
      profile: { mappings: [mapping('large', 'large')] },
    };
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    await sandbox.sync(target);
    const grown = process.memoryUsage.rss() - before;
    assert.ok((await readFile(path.join(sandbox.data, 'large'))).equals(large));
    assert.ok(grown < 64 * 1024 * 1024, `grew by ${grown} bytes`);
  });
});

suite('a sync is rejected without any change because of', () => {
  const refused: {
    name: string;
    files: Parameters<Awaited<ReturnType<typeof createRepository>>['commit']>[0]['files'];
    profile?: Partial<ResolvedProfile>;
    message: RegExp;
  }[] = [
    {
      name: 'a template with a missing key',
      files: { a: '1', b: '{{ .Vars.none }}' },
      profile: { mappings: [mapping('.', '.', { template: true })] },
      message: /^b: line 1: .*add it to vars/,
    },
    {
      name: 'a link in the repository',
      files: { a: '1', l: { symlink: '/etc/passwd' } },
      message: / add "\/l" to excludePatterns: l -> \/etc\/passwd \(an absolute path\)$/,
    },
    {
      name: 'a link in the repository, with links: refuse',
      files: { a: '1', l: { symlink: 'a' } },
      profile: { links: 'refuse' },
      message: /l is a symbolic link in the repository /,
    },
    {
      name: 'a link on the way to a source',
      files: { a: '1', l: { symlink: '/etc' } },
      profile: { mappings: [mapping('a', 'a'), mapping('l/passwd', 'p')] },
      message: /l -> \/etc \(an absolute path\)/,
    },
    {
      name: 'a missing source',
      files: { a: '1' },
      profile: { mappings: [mapping('a', 'a'), mapping('b', 'b')] },
      message: /the repository has no b/,
    },
    {
      name: 'a patch of a file that is not there',
      files: { 'c/a.json': '{}' },
      profile: { mappings: [mapping('c', 'c', { patches: [{ file: 'b.json', set: { a: '1' } }] })] },
      message: /mappings\[0\]: patches\[0\]\.file: c contains no b\.json/,
    },
    {
      name: 'a patch of what is no JSON',
      files: { a: '1', 'c.json': '{' },
      profile: { mappings: [mapping('a', 'a'), mapping('c.json', 'c', { patches: [{ file: '', set: { a: '1' } }] })] },
      message: /^c\.json cannot be patched: it isn't JSON/,
    },
    {
      name: "the agent's own folder",
      files: { '.sync-agent/manifest.json': '{}' },
      message: /reserved for the agent's files/,
    },
  ];
  for (const { name, files, profile, message } of refused) {
    test(`${name}, even in a dry run`, slow, async (t) => {
      const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
      const target = { repo, commit: await commit({ files }), profile: { ...profile } };
      const refusal = { name: 'TerminalError', message };
      await assert.rejects(sandbox.sync({ ...target, profile: { ...profile, dryRun: true } }), refusal);
      await assert.rejects(sandbox.sync(target), refusal);
      assert.deepEqual(await sandbox.files(), {});
    });
  }

  test('links in the data volume, and the files behind them', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const outside = path.join(sandbox.directory, 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, 'x'), 'theirs');
    await symlink(outside, path.join(sandbox.data, 'd'));
    const target = { repo, commit: await commit({ files: { 'd/x': '1' } }) };
    await assert.rejects(sandbox.sync(target), /d is a symbolic link in the data volume/);
    assert.equal(await readFile(path.join(outside, 'x'), 'utf8'), 'theirs');
  });

  test('a directory that was replaced with a link after it was filled', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await sandbox.sync({ repo, commit: await commit({ files: { 'd/x': '1', a: '1' } }) });
    const moved = path.join(sandbox.directory, 'moved');
    await rename(path.join(sandbox.data, 'd'), moved);
    await symlink(moved, path.join(sandbox.data, 'd'));
    await sandbox.sync({ repo, commit: await commit({ files: { 'd/x': null } }) });
    assert.equal(await readFile(path.join(moved, 'x'), 'utf8'), '1');
    assert.equal((await sandbox.files()).d, `-> ${moved}`);
  });

  test("a link in the place of the agent's own directory", async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    const elsewhere = path.join(sandbox.directory, 'elsewhere');
    await mkdir(elsewhere);
    await symlink(elsewhere, path.join(sandbox.data, '.sync-agent'));
    await assert.rejects(sandbox.sync({ repo, commit: await commit({ files: { a: '1' } }) }), /must be a directory/);
    assert.deepEqual(Object.keys(await sandbox.files()), ['.sync-agent']);
  });
});

suite('the manifest of delivered files', () => {
  test('owns nothing if it is lost or damaged: right files are recognized, others stay', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await sandbox.sync({ repo, commit: await commit({ files: { a: '1', b: '2' } }) });
    const second = await commit({ files: { b: null } });
    await writeFile(path.join(sandbox.data, '.sync-agent/manifest.jsonl'), '{"version":1,"files":[{"path":"../x"}]}');
    await sandbox.restart();
    const { plan } = await sandbox.sync({ repo, commit: second });
    assert.deepEqual([plan.changes, plan.unchanged], [[], 1]);
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2' });
  });

  test('of a newer agent stays unchanged', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'sync', { server });
    await mkdir(path.join(sandbox.data, '.sync-agent'));
    await writeFile(path.join(sandbox.data, '.sync-agent/manifest.jsonl'), '{"version":4}\n');
    await assert.rejects(
      sandbox.sync({ repo, commit: await commit({ files: { a: '1' } }) }),
      /version 4, written by a newer agent/,
    );
    assert.deepEqual(await sandbox.files(), {});
  });
});
