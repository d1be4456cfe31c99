import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { isUnchanged } from '../../../../agent/plan/summarize-preview.ts';
import type { FileChange } from '../../../../scripts/testbed/fast-import.ts';
import type { GitServer } from '../../../../scripts/testbed/git-server.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository } from '../../../support/lfs-host.ts';
import { until } from '../../../support/until.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../support/sandbox.ts';

type Mappings = ResolvedProfile['mappings'];
const plain = (source: string, more: object = {}) =>
  ({ source, destination: source, required: true, template: false, ...more }) as Mappings[number];
const config: Partial<ResolvedProfile> = { mappings: [plain('config')] };
const template: Partial<ResolvedProfile> = { mappings: [plain('config', { template: true })] };
const atomic: Partial<ResolvedProfile> = { mappings: [plain('config', { publish: 'atomic' })] };
const checked: Partial<ResolvedProfile> = { ...config, checks: [{ files: '**/*.json', format: 'json' }] };

/** Everything in the data volume with inodes and times, which show every write. */
async function stateOf({ data }: Sandbox): Promise<string[]> {
  const entries = await readdir(data, { recursive: true });
  const all = entries.map(async (entry) => {
    const { ino, mode, mtimeMs, ctimeMs } = await lstat(path.join(data, entry));
    return `${entry} ${ino} ${mode} ${mtimeMs} ${ctimeMs}`;
  });
  const { mtimeMs } = await lstat(data);
  return [`. ${mtimeMs}`, ...(await Promise.all(all)).sort()];
}

interface Given extends SandboxOptions {
  /** Files of the stable commit, and changes of the next one. */
  files: Record<string, FileChange>;
  changes: Record<string, FileChange>;
  profile?: Partial<ResolvedProfile>;
  /** Differences of the candidate from the stable release. */
  next?: { profile?: Partial<ResolvedProfile>; verify?: 'head' };
  verify?: 'head' | 'none';
  isEmpty?: boolean;
  /** If omitted, the repository needs no server. */
  server?: GitServer;
}

/** A gateway with the stable commit, and a candidate to preview. */
async function arrange(t: TestContext, given: Given) {
  const { files, changes, profile = config, next = {}, verify = 'none', isEmpty = false, server, ...options } = given;
  const { repository, sandbox } = await (server
    ? gitSandbox(t, 'preview', { server, ...options })
    : localSandbox(t, 'preview', options));
  const stable = { repo: repository.url, commit: await repository.commit({ files }), profile, verify };
  const candidate = { ...stable, ...next, commit: await repository.commit({ files: changes }) };
  if (!isEmpty) await sandbox.sync({ ...stable, earlier: [stable.commit] });
  return { repository, sandbox, stable, candidate };
}

/** The preview of an arrangement, which must not write anything to the data volume. */
async function previewOf(t: TestContext, given: Given) {
  const arranged = await arrange(t, given);
  const { sandbox, stable, candidate } = arranged;
  const state = await stateOf(sandbox);
  const preview = await sandbox.preview(candidate, stable);
  assert.deepEqual(await stateOf(sandbox), state);
  const { commit, added, modified, deleted, paths, failure, everyCommit, digest } = preview;
  assert.equal(commit, candidate.commit);
  const counts = [added, modified, deleted];
  return { ...arranged, counts, paths, failure, everyCommit, digest, unchanged: isUnchanged(preview) };
}

const one = { files: { 'config/a': '1' }, changes: { 'config/a': '2' } };

suite('a preview', () => {
  test(
    'shows the changes that the sync then makes, and fetches no file of which only the name matters',
    slow,
    async (t) => {
      const server = await gitServerFor(t);
      const { repository, sandbox, candidate, counts, paths, unchanged } = await previewOf(t, {
        files: { 'config/a': '1', 'config/b': '1', 'config/c': '1' },
        changes: { 'config/a': '2', 'config/b': null, 'config/d': 'new', other: '1' },
        server,
      });
      assert.deepEqual([counts, unchanged], [[1, 1, 1], false]);
      assert.deepEqual(paths, [
        'modify config/a (ContentChanged)',
        'delete config/b (NoLongerMapped)',
        'add config/d (New)',
      ]);
      const blob = (await repository.git('rev-parse', `${candidate.commit}:config/a`)).trim();
      assert.deepEqual(await sandbox.clone.missing([blob]), [blob]);
      server.requests.length = 0;
      await sandbox.sync(candidate);
      assert.deepEqual(await sandbox.files(), { 'config/a': '2', 'config/c': '1', 'config/d': 'new' });
      const fetches = server.requests.filter(({ command }) => command === 'fetch');
      assert.equal(fetches.length, 1, 'the directories are not fetched again, only the files');
    },
  );

  test('of a commit that changes no file of the gateway shows it, and its sync then writes no file', async (t) => {
    const { sandbox, candidate, counts, paths, unchanged } = await previewOf(t, {
      ...one,
      changes: { 'README.md': 'read me' },
    });
    assert.deepEqual([counts, paths, unchanged], [[0, 0, 0], undefined, true]);
    const own = async () => (await stateOf(sandbox)).filter((line) => !line.startsWith('.sync-agent'));
    const before = [await own(), sandbox.fetches];
    await sandbox.sync(candidate);
    assert.deepEqual([await own(), sandbox.fetches], before);
    assert.equal((await sandbox.applied())?.commit, candidate.commit);
  });

  test('waits until an interrupted sync is undone', async (t) => {
    const { sandbox, stable, candidate } = await arrange(t, one);
    await writeFile(path.join(sandbox.data, '.sync-agent/journal.jsonl'), '');
    await assert.rejects(sandbox.preview(candidate, stable), { code: 'preview.interrupted' });
    await sandbox.restart();
    await sandbox.sync({ ...stable, earlier: [stable.commit] });
    assert.equal((await sandbox.preview(candidate, stable)).modified, 1);
  });

  test('keeps the stable commit and the latest candidate in the clone', slow, async (t) => {
    const { repository, sandbox, stable, candidate } = await previewOf(t, one);
    const latest = { ...candidate, commit: await repository.commit({ files: { 'config/a': '3' } }) };
    await sandbox.preview(latest, stable);
    const before = sandbox.fetches;
    const sync = () => sandbox.sync({ ...stable, earlier: [stable.commit] });
    await sync();
    assert.deepEqual((await sandbox.clone.pins.commits()).sort(), [stable.commit, latest.commit].sort());
    await rm(path.join(sandbox.data, 'config/a'));
    await sandbox.restart();
    await sync();
    assert.deepEqual([await sandbox.files(), sandbox.fetches], [{ 'config/a': '1' }, before]);
  });

  test('ignores files that were changed on the volume, but not those of others', slow, async (t) => {
    const { sandbox, stable, candidate } = await arrange(t, {
      files: { 'config/a': '1', 'config/b': '1', 'config/d/e': '1' },
      changes: { 'config/new': '1', 'config/same': '1' },
      profile: { ...config, onConflict: 'refuse' },
    });
    await writeFile(path.join(sandbox.data, 'config/a'), 'drifted');
    await rm(path.join(sandbox.data, 'config/b'));
    await rm(path.join(sandbox.data, 'config/d'), { recursive: true });
    await symlink('/', path.join(sandbox.data, 'config/d'));
    await writeFile(path.join(sandbox.data, 'config/same'), '1');
    const { paths } = await sandbox.preview(candidate, stable);
    assert.deepEqual(paths, ['add config/new (New)']);
    await writeFile(path.join(sandbox.data, 'config/new'), 'of the gateway');
    const { failure = '', digest } = await sandbox.preview(candidate, stable);
    assert.match(failure, /^config\/new /);
    assert.equal(isUnchanged({ digest }), false);
    const taken = { ...candidate, profile: { ...config, onConflict: 'takeOver' as const } };
    assert.deepEqual((await sandbox.preview(taken, stable)).paths, ['modify config/new (TakenOver)']);
  });

  test('shows a change of permissions only', async (t) => {
    const { counts, paths } = await previewOf(t, {
      files: { 'config/a': '1', 'config/b': '1' },
      changes: {},
      next: { profile: { mappings: [plain('config'), plain('config/a', { mode: '0600' })] } },
    });
    assert.deepEqual([counts, paths], [[0, 1, 0], ['modify config/a (ModeChanged)']]);
  });

  test('renders templates and patches, also new ones, and names one that every commit changes', slow, async (t) => {
    const files = { 'config/a': '{{ .GatewayName }} x', 'config/b': 'b' };
    const same = await previewOf(t, { files, changes: { 'config/a': 'edge x' }, profile: template });
    assert.deepEqual([same.paths, same.unchanged], [undefined, true], 'the rendered content is the same');
    const changes = { 'config/n': '{{ .Ref }}', 'config/c': '{{ .Commit }}' };
    const other = await previewOf(t, { files, changes, profile: template });
    assert.deepEqual([other.counts, other.everyCommit], [[2, 0, 0], 'config/c']);
    const patched = await previewOf(t, {
      files: { 'config/a.json': '{}', README: '1' },
      changes: { README: '2' },
      profile: { mappings: [plain('config', { patches: [{ file: '*.json', set: { at: '{{ .Commit }}' } }] })] },
    });
    assert.deepEqual([patched.counts, patched.everyCommit], [[0, 1, 0], 'config/a.json']);
  });

  test('has a digest of the changes and of the whole tree, which confirms no guess of a content', slow, async (t) => {
    const digestOf = async ({ x = '1', b = '2', other = 'x' }) => {
      const files = { 'config/a': '{{ .Vars.x }}', 'config/b': '1' };
      const changes = { 'config/a': '{{ .Vars.x }}!', 'config/b': b, other };
      return (await previewOf(t, { files, changes, profile: { ...template, vars: { x } } })).digest;
    };
    const digest = await digestOf({});
    assert.match(digest, /^[0-9a-f]{64}$/);
    assert.equal(await digestOf({}), digest);
    for (const change of [{ x: '2' }, { b: '3' }, { other: 'y' }]) assert.notEqual(await digestOf(change), digest);
  });

  test('lists the first changes only', async (t) => {
    const changes = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`config/${100 + i}`, '1']));
    const { counts, paths = [] } = await previewOf(t, { files: { 'config/a': '1' }, changes });
    assert.deepEqual([counts, paths.length, paths[0]], [[30, 0, 0], 20, 'add config/100 (New)']);
  });

  test('counts files that were changed if the release begins to repair them', slow, async (t) => {
    const profile: Partial<ResolvedProfile> = { ...config, drift: 'ignore' };
    const given = { files: { 'config/a': '1' }, changes: {}, profile, next: { profile: config } };
    const { sandbox, stable, candidate } = await arrange(t, given);
    assert.equal(isUnchanged(await sandbox.preview(candidate, stable)), true);
    await writeFile(path.join(sandbox.data, 'config/a'), 'edited');
    assert.deepEqual((await sandbox.preview(candidate, stable)).paths, ['modify config/a (Drifted)']);
    assert.equal(isUnchanged(await sandbox.preview({ ...candidate, profile }, stable)), true);
  });

  for (const [name, given] of [
    ['templates', { files: { 'config/a': '{{ .GatewayName }}', 'config/b': '1' }, profile: template }],
    ['atomic destinations', { profile: atomic }],
  ] as [string, Partial<Given>][]) {
    test(`for an empty volume compares with the stable release: ${name}`, slow, async (t) => {
      const common = { ...one, changes: { 'config/a': '2', 'config/d': '1' }, ...given };
      const synced = await previewOf(t, common);
      const empty = await previewOf(t, { ...common, isEmpty: true });
      assert.deepEqual([empty.paths, empty.digest], [synced.paths, synced.digest]);
    });
  }

  test('lists links of atomic destinations that are created or removed, but not new trees', slow, async (t) => {
    const files = { 'config/a': '1' };
    const changed = await previewOf(t, { files, changes: { 'config/a': '2' }, profile: atomic });
    assert.deepEqual([changed.counts, changed.paths], [[0, 1, 0], ['modify config/a (ContentChanged)']]);
    const published = await previewOf(t, { files, changes: {}, next: { profile: atomic } });
    assert.deepEqual([published.counts, published.paths], [[0, 1, 0], ['modify config (PublishChanged)']]);
    const drifted = await arrange(t, { files, changes: { README: '1' }, profile: atomic });
    await rm(path.join(drifted.sandbox.data, 'config'));
    assert.equal(isUnchanged(await drifted.sandbox.preview(drifted.candidate, drifted.stable)), true);
    await mkdir(path.join(drifted.sandbox.data, 'config'));
    await writeFile(path.join(drifted.sandbox.data, 'config/x'), '');
    assert.equal(isUnchanged(await drifted.sandbox.preview(drifted.candidate, drifted.stable)), true);
  });

  test('follows submodules', slow, async (t) => {
    const server = await gitServerFor(t);
    const module = await server.createRepository('preview-module');
    const gitmodules = `[submodule "m"]\n\tpath = config/m\n\turl = ${module.url}\n`;
    const { repository, sandbox } = await gitSandbox(t, 'preview', { server });
    const releaseOf = async (m: string) => {
      const submodule = await module.commit({ files: { m } });
      const commit = await repository.commit({ files: { '.gitmodules': gitmodules, 'config/m': { submodule } } });
      return { repo: repository.url, commit, profile: config, submodules: true };
    };
    const stable = await releaseOf('1');
    await sandbox.sync(stable);
    const candidate = await releaseOf('2');
    assert.deepEqual((await sandbox.preview(candidate, stable)).paths, ['modify config/m/m (ContentChanged)']);
    server.requests.length = 0;
    await sandbox.sync(candidate);
    assert.deepEqual([await sandbox.files(), server.requests], [{ 'config/m/m': '2' }, []]);
  });

  test('fetches nothing from Git LFS, except for checks', slow, async (t) => {
    const host = await gitServerFor(t);
    const lfs = createLfsHost(`${host.url}/x.git/info/lfs/objects`);
    host.lfs = lfs.listener;
    const repository = await createLfsRepository(host);
    const sandbox = await createSandbox(t);
    const releaseOf = async (text: string) => ({
      repo: repository.url,
      commit: await repository.commit({ files: { 'config/a.json': lfs.add(text) } }),
      profile: config,
    });
    const stable = await releaseOf('{}');
    await sandbox.sync(stable);
    const candidate = await releaseOf('{');
    lfs.requests.length = 0;
    assert.deepEqual((await sandbox.preview(candidate, stable)).paths, ['modify config/a.json (ContentChanged)']);
    assert.deepEqual(lfs.requests, []);
    const { failure = '' } = await sandbox.preview({ ...candidate, profile: checked }, stable);
    assert.match(failure, /^config\/a\.json: line 1/);
  });
});

suite('a preview of a release that cannot be delivered', () => {
  const link = (symlink: string) => ({ symlink });
  const broken = (name: string) => `{{ .Vars.${name} }}`;
  const many = (count: number, change: FileChange) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${1000 + i}`, change]));
  type Files = Record<string, FileChange>;
  const inConfig = (files: Files) =>
    Object.fromEntries(Object.entries(files).map(([at, file]) => [`config/${at}`, file]));
  /** Files of the stable commit and changes of the next one, in the mapped directory. */
  const from = (files: Files, changes: Files, more: Partial<Given> = {}): Given => ({
    files: inConfig(files),
    changes: inConfig(changes),
    ...more,
  });
  const a = { a: '1' };
  const heapBytes = 19 * 1024 ** 2;
  const patched = { mappings: [plain('config', { patches: [{ file: '*.json', set: { a: '1' } }] })] };
  const excluded = { ...config, excludePatterns: ['*'] };

  const templated = { profile: template };
  const checking = { profile: checked };

  const problems: [name: string, given: Given, failure: RegExp][] = [
    ['a template without a value', from(a, { n: broken('x') }, templated), /^config\/n: /],
    ['a file that fails a new check', from({ 'a.json': '{' }, {}, { next: checking }), /^config\/a\.json: /],
    ['a mapping that leads into a mount', from(a, { 'm/x': '1' }, { mounts: ['config/m'] }), /volume at config\/m/],
    ['more files than fit into memory', from(a, many(2_500, '1'), { heapBytes }), /memory/],
    ['no files', from(a, {}, { next: { profile: excluded } }), /remove all 1 file/],
    [
      'an unsigned commit before anything else',
      from(a, { n: broken('x') }, { ...templated, next: { verify: 'head' } }),
      /spec\.git\.verify/,
    ],
  ];
  for (const [name, given, expected] of problems) {
    test(`names ${name}`, slow, async (t) => {
      const { failure = '', counts, unchanged } = await previewOf(t, given);
      assert.match(failure, expected);
      assert.deepEqual([counts, unchanged], [[0, 0, 0], false]);
    });
  }

  const large = ' '.repeat(8 * 1024 ** 2 + 1);
  const shared: [name: string, given: Given][] = [
    ['moved to another line', from({ a: broken('x') }, { a: `# \n${broken('x')}` })],
    ['in the second template, and the first one is fixed', from({ a: broken('x'), b: broken('x') }, a)],
    ['in more templates than are listed', from(many(30, broken('x')), { 1000: '1' })],
    ['of a check, on another line', from({ 'a.json': '{,' }, { 'a.json': '{\n"a": 1,,\n}' }, checking)],
    [
      'of a patch that fails on another line, after a file that is too large for one',
      from({ 'a.json': large, 'b.json': '{' }, { 'b.json': '{\n"a"' }, { profile: patched }),
    ],
    [
      'of too little memory, for more files',
      from(many(2_500, '1'), { [`0/${'x'.repeat(200)}`]: '1' }, { profile: config, heapBytes }),
    ],
    ['of the second link, and the first one is fixed', from({ a: link('x'), b: link('x') }, a, { profile: config })],
    ['of a commit that is not signed', from(a, {}, { verify: 'head' })],
  ];
  for (const [name, given] of shared) {
    test(`and the stable one has the same problem, ${name}: it is not a failure`, slow, async (t) => {
      const { failure, unchanged } = await previewOf(t, { profile: template, ...given, isEmpty: true });
      assert.deepEqual([failure, unchanged], [undefined, false]);
    });
  }

  const added: [name: string, given: Given, failure: RegExp][] = [
    [
      'another placeholder of a file',
      from({ a: broken('x') }, { a: broken('x') + broken('y') }, templated),
      /^config\/a: line 1: \{\{ \.Vars\.y \}\}/,
    ],
    ['another link', from({ a: link('x') }, { b: link('y') }), /add "\/config\/b" .*: config\/b -> y [^,]*$/],
    [
      'a check, after many links that cannot be followed,',
      from(many(25, link('x')), { ...many(25, null), 'b.json': '{' }, checking),
      /^config\/b\.json: line 1/,
    ],
    ['another file in a check', from({ 'a.json': '{' }, { 'b.json': '{' }, checking), /^config\/b\.json: line 1[^;]*$/],
  ];
  for (const [name, given, expected] of added) {
    test(`names a problem of ${name} than that of the stable one`, slow, async (t) => {
      const { failure = '' } = await previewOf(t, { ...given, isEmpty: true });
      assert.match(failure, expected);
    });
  }

  test('is no failure, but a change as well, if the stable one has the same problem', slow, async (t) => {
    const given = from({ a: broken('none') }, { b: '1' }, { profile: template, isEmpty: true });
    const { sandbox, stable, candidate } = await arrange(t, given);
    const { digest } = await sandbox.preview(candidate, stable);
    const fixed = { ...candidate, profile: { ...template, excludePatterns: ['?'], allowEmpty: true } };
    assert.equal(isUnchanged(await sandbox.preview(fixed, stable)), true);
    const missing = await sandbox.preview('no profile a', 'no profile b');
    assert.deepEqual([missing.failure, missing.digest === digest], [undefined, false]);
    assert.equal((await sandbox.preview('no profile a', { ...stable, profile: config })).failure, 'no profile a');
  });
});

suite('a preview with a slow git server', () => {
  const start = async (t: TestContext) => {
    const host = await gitServerFor(t);
    const { sandbox, stable, candidate } = await arrange(t, { ...one, profile: template, server: host });
    // Fetches the directories only.
    await sandbox.preview({ ...candidate, profile: config }, { ...stable, profile: config });
    host.requests.length = 0;
    const preview = (fetchTimeoutMs?: number, signal?: AbortSignal) =>
      sandbox.preview({ ...candidate, fetchTimeoutMs }, stable, signal);
    const requested = () => until(() => host.requests.length > 0, { describe: 'the fetch of a template' });
    return { host, sandbox, stable, preview, requested };
  };

  test('shows nothing after an error or at the limit of spec.git.timeout, and can be repeated', slow, async (t) => {
    const { host, preview } = await start(t);
    host.fault = { status: 503 };
    await assert.rejects(preview(), { name: 'TransientError', code: 'git.http503' });
    host.fault = { hang: true };
    await assert.rejects(preview(500), { name: 'TransientError', code: 'git.timeout' });
    host.fault = undefined;
    assert.equal((await preview()).modified, 1);
  });

  test('ends with its signal, and changes nothing for the next sync', slow, async (t) => {
    const { host, sandbox, stable, preview, requested } = await start(t);
    host.fault = { hang: true };
    const stop = new AbortController();
    const running = preview(undefined, stop.signal);
    await requested();
    stop.abort();
    await assert.rejects(running);
    await host.stop();
    await writeFile(path.join(sandbox.data, 'config/a'), 'drifted');
    await sandbox.sync({ ...stable, earlier: [stable.commit] });
    assert.equal(await readFile(path.join(sandbox.data, 'config/a'), 'utf8'), '1');
  });
});
