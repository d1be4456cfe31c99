import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { isUnchanged } from '../../../../agent/plan/summarize-preview.ts';
import type { FileChange } from '../../../../scripts/testbed/fast-import.ts';
import { type GitServer, startGitServer } from '../../../../scripts/testbed/git-server.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository } from '../../../support/lfs-host.ts';
import { until } from '../../../support/until.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import type { Sandbox, SandboxOptions } from '../support/sandbox.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

type Mappings = ResolvedProfile['mappings'];
const plain = (source: string, more: object = {}) =>
  ({ source, destination: source, required: true, template: false, ...more }) as Mappings[number];
const config: Partial<ResolvedProfile> = { mappings: [plain('config')] };
const template: Partial<ResolvedProfile> = { mappings: [plain('config', { template: true })] };

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
  next?: { profile?: Partial<ResolvedProfile>; submodules?: boolean };
  verify?: 'head' | 'none';
  isEmpty?: boolean;
}

/** A gateway with the stable commit, and the preview of the next one. */
async function arrange(t: TestContext, given: Given) {
  const { files, changes, profile = config, next = {}, verify = 'none', isEmpty = false, ...options } = given;
  const { repository, sandbox } = await gitSandbox(t, 'preview', { server, ...options });
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
  const { commit, added, modified, deleted, paths, failure, everyCommit } = preview;
  assert.equal(commit, candidate.commit);
  return { ...arranged, preview, counts: [added, modified, deleted], paths, failure, everyCommit };
}

const fetches = () => server.requests.filter(({ command }) => command === 'fetch').length;

suite('a preview', () => {
  test(
    'shows the changes that the sync then makes, and fetches no file of which only the name matters',
    slow,
    async (t) => {
      const { repository, sandbox, candidate, preview, counts, paths } = await previewOf(t, {
        files: { 'config/a': '1', 'config/b': '1', 'config/c': '1' },
        changes: { 'config/a': '2', 'config/b': null, 'config/d': 'new', other: '1' },
      });
      assert.deepEqual(counts, [1, 1, 1]);
      assert.deepEqual(paths, [
        'modify config/a (ContentChanged)',
        'delete config/b (NoLongerMapped)',
        'add config/d (New)',
      ]);
      assert.equal(isUnchanged(preview), false);
      const blob = (await repository.git('rev-parse', `${candidate.commit}:config/a`)).trim();
      const { missing } = await sandbox.clone.survey([blob]);
      assert.deepEqual(missing, [blob]);
      const before = fetches();
      await sandbox.sync(candidate);
      assert.deepEqual(await sandbox.files(), { 'config/a': '2', 'config/c': '1', 'config/d': 'new' });
      assert.equal(fetches() - before, 1, 'the directories are not fetched again, only the files');
    },
  );

  test('of a commit that changes no file of the gateway shows it, and its sync then writes no file', async (t) => {
    const { sandbox, candidate, preview, counts, paths } = await previewOf(t, {
      files: { 'config/a': '1' },
      changes: { 'README.md': 'read me' },
    });
    assert.deepEqual([counts, paths, isUnchanged(preview)], [[0, 0, 0], undefined, true]);
    const own = async () => (await stateOf(sandbox)).filter((line) => !line.startsWith('.sync-agent'));
    const before = await own();
    const requests = fetches();
    await sandbox.sync(candidate);
    assert.deepEqual([await own(), fetches()], [before, requests]);
    assert.equal((await sandbox.applied())?.commit, candidate.commit);
  });

  test('leaves the stable commit in the clone, which needs no fetch afterwards', slow, async (t) => {
    const { sandbox, stable } = await previewOf(t, { files: { 'config/a': '1' }, changes: { 'config/a': '2' } });
    await rm(path.join(sandbox.data, 'config/a'));
    await sandbox.restart();
    const before = fetches();
    await sandbox.sync({ ...stable, earlier: [stable.commit] });
    assert.deepEqual([await sandbox.files(), fetches()], [{ 'config/a': '1' }, before]);
  });

  test('keeps the latest candidate in the clone, and no earlier one', slow, async (t) => {
    const { repository, sandbox, stable, candidate } = await previewOf(t, {
      files: { 'config/a': '1' },
      changes: { 'config/a': '2' },
    });
    const latest = { ...candidate, commit: await repository.commit({ files: { 'config/a': '3' } }) };
    await sandbox.preview(latest, stable);
    await sandbox.sync({ ...stable, earlier: [stable.commit] });
    assert.deepEqual((await sandbox.clone.pins.commits()).sort(), [stable.commit, latest.commit].sort());
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
    assert.match(failure, /^config\/new exists in the data volume/);
    assert.equal(isUnchanged({ digest }), false);
    const taken = { ...candidate, profile: { ...config, onConflict: 'takeOver' as const } };
    assert.deepEqual((await sandbox.preview(taken, stable)).paths, ['modify config/new (TakenOver)']);
  });

  test('shows a change of permissions only', async (t) => {
    const files = { 'config/a': '1', 'config/b': '1' };
    const { counts, paths } = await previewOf(t, {
      files,
      changes: {},
      next: { profile: { mappings: [plain('config'), plain('config/a', { mode: '0600' })] } },
    });
    assert.deepEqual([counts, paths], [[0, 1, 0], ['modify config/a (ModeChanged)']]);
  });

  test('renders templates and patches, also new ones, and names one that every commit changes', slow, async (t) => {
    const values = (text: string) => ({ 'config/a': `{{ .GatewayName }} ${text}`, 'config/b': 'b' });
    const same = await previewOf(t, {
      files: values('x'),
      changes: { 'config/a': 'edge x' },
      profile: template,
    });
    assert.deepEqual([same.paths, isUnchanged(same.preview)], [undefined, true], 'the rendered content is the same');
    const other = await previewOf(t, {
      files: values('x'),
      changes: { 'config/n': '{{ .Ref }}', 'config/c': '{{ .Commit }}' },
      profile: template,
    });
    assert.deepEqual([other.counts, other.everyCommit], [[2, 0, 0], 'config/c']);
    const patched = await previewOf(t, {
      files: { 'config/a.json': '{}', README: '1' },
      changes: { README: '2' },
      profile: { mappings: [plain('config', { patches: [{ file: '*.json', set: { at: '{{ .Commit }}' } }] })] },
    });
    assert.deepEqual([patched.counts, patched.everyCommit], [[0, 1, 0], 'config/a.json']);
  });

  test('has the digest of the content, so equal changes of two gateways are recognized', slow, async (t) => {
    const files = { 'config/a': '{{ .Vars.x }}', 'config/b': '1' };
    const digestOf = async (x: string, b: string) => {
      const profile = { ...template, vars: { x } };
      const { preview } = await previewOf(t, {
        files,
        changes: { 'config/a': '{{ .Vars.x }}!', 'config/b': b },
        profile,
      });
      return preview.digest;
    };
    const digest = await digestOf('1', '2');
    assert.match(digest, /^[0-9a-f]{64}$/);
    assert.equal(await digestOf('1', '2'), digest);
    assert.notEqual(await digestOf('2', '2'), digest);
    assert.notEqual(await digestOf('1', '3'), digest);
  });

  test('has a digest that confirms no guess of a content without the rest of the repository', slow, async (t) => {
    const digestOf = async (other: string) => {
      const changes = { 'config/pin': '1234', other };
      const { preview } = await previewOf(t, { files: { 'config/pin': '0000' }, changes });
      return preview.digest;
    };
    const digest = await digestOf('x');
    assert.equal(await digestOf('x'), digest);
    assert.notEqual(await digestOf('y'), digest);
  });

  test('lists the first changes only', async (t) => {
    const changes = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`config/${String(i).padStart(2, '0')}`, '1']),
    );
    const { counts, paths = [] } = await previewOf(t, { files: { 'config/a': '1' }, changes });
    assert.deepEqual([counts, paths.length, paths[0]], [[30, 0, 0], 20, 'add config/00 (New)']);
  });
});

suite('a preview of a release that cannot be delivered', () => {
  const json = [{ files: '**/*.json', format: 'json' as const }];
  const cases: [name: string, given: Given, failure: RegExp][] = [
    [
      'a template without a value',
      { files: { 'config/a': '1' }, changes: { 'config/n': '{{ .Vars.none }}' }, profile: template },
      /^config\/n: .*Vars\.none/,
    ],
    [
      'a file that fails a check',
      { files: { 'config/a.json': '{}' }, changes: { 'config/a.json': '{' }, profile: { ...config, checks: json } },
      /^config\/a\.json: line 1/,
    ],
    [
      'a file that fails a new check',
      { files: { 'config/a.json': '{' }, changes: {}, next: { profile: { ...config, checks: json } } },
      /^config\/a\.json: line 1/,
    ],
    [
      'a missing source',
      { files: { 'config/a': '1', x: '1' }, changes: { 'config/a': null } },
      /the repository has no config/,
    ],
    [
      'a mapping that leads into a mount',
      { files: { 'config/a': '1' }, changes: { 'config/m/x': '1' }, mounts: ['config/m'] },
      /mounts another volume at config\/m/,
    ],
    [
      'more files than fit into memory',
      {
        files: { 'config/a': '1' },
        changes: Object.fromEntries(Array.from({ length: 2_500 }, (_, i) => [`config/${i}`, '1'])),
        heapBytes: 19 * 1024 ** 2,
      },
      /needs more memory than the agent has/,
    ],
    [
      'no files',
      { files: { 'config/a': '1' }, changes: {}, next: { profile: { ...config, excludePatterns: ['*'] } } },
      /would remove all 1 files/,
    ],
    [
      'a link that leads out of the repository',
      { files: { 'config/a': '1' }, changes: { 'config/l': { symlink: '/etc' } } },
      /an absolute path/,
    ],
    [
      'an unsigned commit',
      { files: { 'config/a': '1' }, changes: { 'config/n': '{{ .Vars.none }}' }, next: { verify: 'head' } as object },
      /spec\.git\.verify/,
    ],
  ];
  for (const [name, given, expected] of cases) {
    test(`names ${name}`, slow, async (t) => {
      const { failure = '', counts, preview } = await previewOf(t, given);
      assert.match(failure, expected);
      assert.deepEqual([counts, isUnchanged(preview)], [[0, 0, 0], false]);
    });
  }

  test('and the stable one has the same problem: it is a change, not a failure', slow, async (t) => {
    const { sandbox, stable, candidate } = await arrange(t, {
      files: { 'config/a': '{{ .Vars.none }}' },
      changes: { README: '1' },
      profile: template,
      isEmpty: true,
    });
    const { failure, digest } = await sandbox.preview(candidate, stable);
    assert.deepEqual([failure, isUnchanged({ digest })], [undefined, false]);
    const other = { ...candidate, profile: { ...template, excludePatterns: ['a'], allowEmpty: true } };
    assert.equal(isUnchanged(await sandbox.preview(other, stable)), true);
    const missing = await sandbox.preview('no profile a', 'no profile b');
    assert.deepEqual([missing.failure, missing.digest === digest], [undefined, false]);
    assert.equal((await sandbox.preview('no profile a', { ...stable, profile: config })).failure, 'no profile a');
  });

  const link = (symlink: string) => ({ symlink });
  const broken = (name: string) => `{{ .Vars.${name} }}`;
  const many = (count: number, text: (i: number) => string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`config/${String(i).padStart(4, '0')}`, text(i)]));
  const checked = { ...config, checks: json };
  const patched = { mappings: [plain('config', { patches: [{ file: '*.json', set: { a: '1' } }] })] };
  const old: [name: string, given: Given][] = [
    [
      'moved to another line',
      { files: { 'config/a': broken('x') }, changes: { 'config/a': `# \n${broken('x')}` }, profile: template },
    ],
    [
      'in the second template, and the first one is fixed',
      {
        files: { 'config/a': broken('x'), 'config/b': broken('x') },
        changes: { 'config/a': '1' },
        profile: template,
      },
    ],
    [
      'of the second placeholder of a file, and the first one is fixed',
      { files: { 'config/a': broken('x') + broken('y') }, changes: { 'config/a': broken('y') }, profile: template },
    ],
    [
      'in more templates than are listed, and the first one is fixed',
      { files: many(30, () => broken('x')), changes: { 'config/0000': '1' }, profile: template },
    ],
    [
      'of a check that fails on another line',
      { files: { 'config/a.json': '{,' }, changes: { 'config/a.json': '{\n"a": 1,,\n}' }, profile: checked },
    ],
    [
      'of the second file that fails a check, and the first one is fixed',
      {
        files: { 'config/a.json': '{', 'config/b.json': '{' },
        changes: { 'config/a.json': '{}' },
        profile: checked,
      },
    ],
    [
      'of a patch that fails on another line, after a file that is too large for one',
      {
        files: { 'config/a.json': ' '.repeat(8 * 1024 ** 2 + 1), 'config/b.json': '{' },
        changes: { 'config/b.json': '{\n"a"' },
        profile: patched,
      },
    ],
    [
      'of too little memory, for more files',
      {
        files: many(2_500, String),
        changes: { [`config/0/${'x'.repeat(200)}`]: '1' },
        heapBytes: 19 * 1024 ** 2,
      },
    ],
    [
      'of the second link that cannot be followed, and the first one is fixed',
      { files: { 'config/a': link('x'), 'config/b': link('x') }, changes: { 'config/a': '1' } },
    ],
    [
      'of a mapping, and another one is before it',
      { files: { other: '1' }, changes: {}, next: { profile: { mappings: [plain('other'), plain('config')] } } },
    ],
    ['of a commit that is not signed', { files: { 'config/a': '1' }, changes: {}, verify: 'head' }],
  ];
  for (const [name, given] of old) {
    test(`and the stable one has the same problem, ${name}: it is not a failure`, slow, async (t) => {
      const { failure, preview } = await previewOf(t, { ...given, isEmpty: true });
      assert.deepEqual([failure, isUnchanged(preview)], [undefined, false]);
    });
  }

  const numbers = Array.from({ length: 25 }, (_, i) => i);
  const added: [name: string, given: Given, failure: RegExp][] = [
    [
      'a problem of another template',
      { files: { 'config/a': broken('x') }, changes: { 'config/b': broken('x') }, profile: template },
      /^config\/b: line 1: \{\{ \.Vars\.x \}\}/,
    ],
    [
      'a problem of another placeholder of a file',
      { files: { 'config/a': broken('x') }, changes: { 'config/a': broken('x') + broken('y') }, profile: template },
      /^config\/a: line 1: \{\{ \.Vars\.y \}\}/,
    ],
    [
      'a problem of another link',
      { files: { 'config/a': link('x') }, changes: { 'config/b': link('y') } },
      /^symbolic links .* add "\/config\/b" .*: config\/b -> y [^,]*$/,
    ],
    [
      'a problem of a check, after many links that cannot be followed,',
      {
        files: Object.fromEntries(numbers.map((i) => [`config/${i}`, link('x')])),
        changes: { ...Object.fromEntries(numbers.map((i) => [`config/${i}`, null])), 'config/b.json': '{' },
        profile: checked,
      },
      /^config\/b\.json: line 1/,
    ],
    [
      'a problem of another file in a check',
      { files: { 'config/a.json': '{' }, changes: { 'config/b.json': '{' }, profile: checked },
      /^config\/b\.json: line 1[^;]*$/,
    ],
  ];
  for (const [name, given, expected] of added) {
    test(`names ${name} than that of the stable one`, slow, async (t) => {
      const { failure = '' } = await previewOf(t, { ...given, isEmpty: true });
      assert.match(failure, expected);
    });
  }

  test('is not shown while the git server is unavailable', slow, async (t) => {
    const host = await gitServerFor(t);
    const { repository, sandbox } = await gitSandbox(t, 'preview', { server: host });
    const stable = {
      repo: repository.url,
      commit: await repository.commit({ files: { 'config/a': '1' } }),
      profile: config,
    };
    await sandbox.sync(stable);
    const candidate = { ...stable, commit: await repository.commit({ files: { 'config/a': '2' } }) };
    host.fault = { status: 503 };
    await assert.rejects(sandbox.preview(candidate, stable), { name: 'TransientError' });
    host.fault = undefined;
    assert.equal((await sandbox.preview(candidate, stable)).modified, 1);
  });
});

suite('a preview for an empty volume', () => {
  test('compares with the stable release', slow, async (t) => {
    const given: Given = {
      files: { 'config/a': '{{ .GatewayName }}', 'config/b': '1', 'config/c': '1' },
      changes: { 'config/b': '2', 'config/d': '1' },
      profile: template,
    };
    const synced = await previewOf(t, given);
    const empty = await previewOf(t, { ...given, isEmpty: true });
    assert.deepEqual(empty.preview.paths, synced.preview.paths);
    assert.equal(empty.preview.digest, synced.preview.digest);
    const unchanged = await previewOf(t, { ...given, changes: { README: '1' }, isEmpty: true });
    assert.equal(isUnchanged(unchanged.preview), true);
  });

  test('does so with atomic destinations', slow, async (t) => {
    const atomic = { mappings: [plain('config', { publish: 'atomic' })] };
    for (const [changes, next] of [
      [{ 'config/a': '2' }, {}],
      [{}, { profile: config }],
      [{ README: '1' }, {}],
    ] as const) {
      const given: Given = { files: { 'config/a': '1', 'config/b': '1' }, changes, profile: atomic, next };
      const synced = await previewOf(t, given);
      const empty = await previewOf(t, { ...given, isEmpty: true });
      assert.deepEqual([empty.preview.paths, empty.preview.digest], [synced.preview.paths, synced.preview.digest]);
    }
  });
});

test('a preview counts files that were changed if the release begins to repair them', slow, async (t) => {
  const profile: Partial<ResolvedProfile> = { ...config, drift: 'ignore' };
  const given = { files: { 'config/a': '1' }, changes: {}, profile, next: { profile: config } };
  const { sandbox, stable, candidate } = await arrange(t, given);
  assert.equal(isUnchanged(await sandbox.preview(candidate, stable)), true);
  await writeFile(path.join(sandbox.data, 'config/a'), 'edited');
  assert.deepEqual((await sandbox.preview(candidate, stable)).paths, ['modify config/a (Drifted)']);
  assert.equal(isUnchanged(await sandbox.preview({ ...candidate, profile }, stable)), true);
});

suite('a preview of special files', () => {
  test('lists links of atomic destinations that are created or removed, but not new trees', slow, async (t) => {
    const atomic = { mappings: [plain('config', { publish: 'atomic' })] };
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

  test('follows links', slow, async (t) => {
    const files = { 'config/l': { symlink: '../common/x' }, 'common/x': '1' };
    const { paths } = await previewOf(t, { files, changes: { 'common/x': '2' } });
    assert.deepEqual(paths, ['modify config/l (ContentChanged)']);
    const { preview } = await previewOf(t, { files, changes: { 'common/y': '2' } });
    assert.equal(isUnchanged(preview), true);
  });

  test('follows submodules', slow, async (t) => {
    const module = await server.createRepository('preview-module');
    const first = await module.commit({ files: { m: '1' } });
    const second = await module.commit({ files: { m: '2' } });
    const gitmodules = `[submodule "m"]\n\tpath = config/m\n\turl = ${module.url}\n`;
    const { repository, sandbox } = await gitSandbox(t, 'preview', { server });
    const files = { '.gitmodules': gitmodules, 'config/m': { submodule: first }, 'config/a': '1' };
    const commit = await repository.commit({ files });
    const stable = { repo: repository.url, commit, profile: config, submodules: true };
    await sandbox.sync(stable);
    const candidate = { ...stable, commit: await repository.commit({ files: { 'config/m': { submodule: second } } }) };
    assert.deepEqual((await sandbox.preview(candidate, stable)).paths, ['modify config/m/m (ContentChanged)']);
    const before = fetches();
    await sandbox.sync(candidate);
    assert.deepEqual([(await sandbox.files())['config/m/m'], fetches()], ['2', before]);
  });

  test('fetches nothing from Git LFS, except for checks', slow, async (t) => {
    const host = await gitServerFor(t);
    const lfs = createLfsHost(`${host.url}/x.git/info/lfs/objects`);
    host.lfs = lfs.listener;
    const repository = await createLfsRepository(host);
    const { sandbox } = await gitSandbox(t, 'preview', { server });
    const commit = await repository.commit({ files: { 'config/a.json': lfs.add('{}') } });
    const stable = { repo: repository.url, commit, profile: config };
    await sandbox.sync(stable);
    const candidate = { ...stable, commit: await repository.commit({ files: { 'config/a.json': lfs.add('{') } }) };
    lfs.requests.length = 0;
    assert.deepEqual((await sandbox.preview(candidate, stable)).paths, ['modify config/a.json (ContentChanged)']);
    assert.deepEqual(lfs.requests, []);
    const checks = [{ files: '**/*.json', format: 'json' as const }];
    const { failure = '' } = await sandbox.preview({ ...candidate, profile: { ...config, checks } }, stable);
    assert.match(failure, /^config\/a\.json: line 1/);
  });
});

suite('a preview with a slow git server', () => {
  const start = async (t: TestContext) => {
    const host = await gitServerFor(t);
    const { repository, sandbox } = await gitSandbox(t, 'preview', { server: host });
    const stable = { repo: repository.url, commit: await repository.commit({ files: { 'config/a': '1' } }) };
    await sandbox.sync({ ...stable, profile: template });
    const candidate = { ...stable, commit: await repository.commit({ files: { 'config/a': '2' } }) };
    // Fetches the directories only.
    await sandbox.preview({ ...candidate, profile: config }, { ...stable, profile: config });
    host.requests.length = 0;
    const preview = (fetchTimeoutMs?: number) =>
      sandbox.preview({ ...candidate, profile: template, fetchTimeoutMs }, { ...stable, profile: template });
    return { host, preview };
  };

  test('fetches templates for as long as a sync does', slow, async (t) => {
    const { host, preview } = await start(t);
    const limit = new AbortController();
    t.mock.method(AbortSignal, 'timeout', () => limit.signal);
    const gate = Promise.withResolvers<void>();
    host.fault = { delay: gate.promise };
    const running = preview();
    await until(() => host.requests.length > 0, { describe: 'the fetch of a template' });
    limit.abort();
    gate.resolve();
    assert.equal((await running).modified, 1);
  });

  test('ends at the limit of spec.git.timeout, and shows nothing', slow, async (t) => {
    const { host, preview } = await start(t);
    host.fault = { hang: true };
    await assert.rejects(preview(500), { name: 'TransientError', code: 'git.timeout' });
    host.fault = undefined;
    assert.equal((await preview()).modified, 1);
  });
});

suite('a preview in progress', () => {
  test('ends with its signal, and changes nothing for the next sync', slow, async (t) => {
    const host = await gitServerFor(t);
    const { repository, sandbox } = await gitSandbox(t, 'preview', { server: host });
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const stable = { repo: repository.url, commit, profile: config, earlier: [commit] };
    await sandbox.sync(stable);
    const candidate = { ...stable, commit: await repository.commit({ files: { 'config/a': '2' } }) };
    host.requests.length = 0;
    host.fault = { hang: true };
    const stop = new AbortController();
    const running = sandbox.preview(candidate, stable, stop.signal);
    while (host.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort();
    await assert.rejects(running);
    await host.stop();
    await writeFile(path.join(sandbox.data, 'config/a'), 'drifted');
    await sandbox.sync(stable);
    assert.equal(await readFile(path.join(sandbox.data, 'config/a'), 'utf8'), '1');
  });
});
