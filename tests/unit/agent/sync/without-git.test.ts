import assert from 'node:assert/strict';
import { chmod, cp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { shareGitServer } from '../../../support/git-server-for.ts';
import { changesOf, pathsOf } from '../support/changes-of.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

const server = await shareGitServer();

type Target = Parameters<Sandbox['sync']>[0];
const files = { a: '1', 'd/b': '{{ .Ref }}', 'd/run': { content: '#!', executable: true } };
const mapping = (more: object = {}) =>
  ({ source: '.', destination: '.', required: true, template: false, ...more }) as ResolvedProfile['mappings'][number];
const profile = { mappings: [mapping({ template: true })] };

function up(): void {
  server.fault = undefined;
}

/** A data volume with the delivered commit. */
async function prepare(t: TestContext, more: Partial<Target> = {}) {
  const { repo, commit, sandbox, at } = await gitSandbox(t, 'without-git', { server });
  const target: Target = { repo, commit: await commit({ files }), profile, ...more };
  await sandbox.sync(target);
  t.after(up);
  return { sandbox, target, commit, at };
}

/** As a new pod with the same data volume, while the git server is down. */
async function recreate(sandbox: Sandbox): Promise<void> {
  await sandbox.release();
  await rm(sandbox.repo, { recursive: true, force: true });
  server.fault = { status: 503 };
  await sandbox.restart();
}

suite('a new pod with the right files', () => {
  test('needs no git server, even at later checks, and fetches the commit when it is back', slow, async (t) => {
    const { sandbox, target, commit } = await prepare(t);
    await recreate(sandbox);
    assert.ok(await sandbox.isAtHand(target), 'it does not have to wait for its turn to fetch');
    assert.ok(!(await sandbox.isAtHand({ ...target, submodules: true })));
    for (let look = 0; look < 3; look += 1) {
      const outcome = await sandbox.sync(target);
      assert.deepEqual([outcome.kind, outcome.plan.changes, outcome.plan.unchanged], ['synced', [], 3]);
      assert.ok(outcome.isWithoutGit);
    }
    assert.equal((await sandbox.applied())?.commit, target.commit);
    assert.deepEqual((await sandbox.inspect({ kind: 'drift' }, target)).changes, []);
    up();
    assert.ok(!(await sandbox.sync(target)).isWithoutGit);
    assert.ok(await sandbox.clone.repository.holds(target.commit));
    const next = { ...target, commit: await commit({ files: { a: '2' } }) };
    assert.deepEqual(pathsOf((await sandbox.sync(next)).plan), ['a']);
  });

  test('sends no request to an available git server before it starts', async (t) => {
    const { sandbox, target } = await prepare(t);
    await recreate(sandbox);
    up();
    const { fetches } = sandbox;
    await sandbox.sync(target);
    assert.equal(sandbox.fetches, fetches);
  });

  test('needs no git server for modes, which Kubernetes changes when it mounts a volume', slow, async (t) => {
    const large = 'x'.repeat(600_000);
    const { repo, commit, sandbox, at } = await gitSandbox(t, 'mounted', { server });
    const keys = { 'keys/id': 'key', 'keys/t': '{{ .Ref }}', 'keys/large': large, 'dags/a': '1', 'dags/b': '1' };
    const mappings = [
      mapping({ source: 'keys', destination: 'keys', mode: '0600', template: true, patches: [] }),
      mapping({ source: 'dags', destination: 'dags', publish: 'atomic' }),
      mapping({ source: 'keys/id', destination: 'dags/key', mode: '0400' }),
    ];
    const target = { repo, commit: await commit({ files: keys }), profile: { mappings } };
    await sandbox.sync(target);
    t.after(up);
    await recreate(sandbox);
    const { ino } = await stat(at('dags/a'));
    for (const name of ['keys/id', 'keys/t', 'keys/large', 'dags/a', 'dags/key'])
      await chmod(at(name), (await stat(at(name))).mode | 0o660);
    const before = await sandbox.files();
    const dry = await sandbox.sync({ ...target, profile: { mappings, dryRun: true } });
    const outcome = await sandbox.sync(target);
    for (const { plan } of [dry, outcome])
      assert.deepEqual(
        changesOf(plan).sort(),
        ['dags/key', 'keys/id', 'keys/large', 'keys/t'].map((name) => `modify ${name} Drifted`),
      );
    assert.ok(outcome.isWithoutGit);
    const modes = await Promise.all(
      ['keys/id', 'keys/t', 'keys/large', 'dags/key'].map(async (name) => (await stat(at(name))).mode & 0o777),
    );
    assert.deepEqual(modes, [0o600, 0o600, 0o600, 0o400]);
    assert.equal((await stat(at('dags/a'))).ino, ino);
    assert.deepEqual(Object.keys(await sandbox.files()).sort(), Object.keys(before).sort());
    assert.deepEqual(
      [await readFile(at('keys/large'), 'utf8'), await readFile(at('dags/key'), 'utf8')],
      [large, 'key'],
    );
    await sandbox.restart();
    assert.deepEqual((await sandbox.sync(target)).plan.changes, []);
    up();
    const { plan } = await sandbox.sync({ ...target, ref: 'other' });
    assert.deepEqual(changesOf(plan), ['modify keys/t ValuesChanged'], 'the copies are recorded as templates');
  });

  test('is recognized by content if inodes and times differ', async (t) => {
    const { sandbox, target, at } = await prepare(t);
    await recreate(sandbox);
    for (const name of ['a', 'd']) {
      await cp(at(name), at(`${name}.copy`), { recursive: true });
      await rm(at(name), { recursive: true });
      await rename(at(`${name}.copy`), at(name));
    }
    const { plan } = await sandbox.sync(target);
    assert.deepEqual([plan.unchanged, plan.corrected.length], [3, 3]);
    await sandbox.release();
    await sandbox.restart();
    assert.deepEqual((await sandbox.sync(target)).plan.corrected, [], 'the new ones are noted');
  });

  test("uses the attributes of the next commit, although it didn't read those of this one", async (t) => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 1\n`;
    const { sandbox, target, commit } = await prepare(t);
    const { profile: _, ...same } = target;
    const plain = { ...same, profile: { mappings: [mapping()] } };
    const marked = { 'run.bat': 'a\n', 'big.bin': pointer, '.gitattributes': '*.bat eol=crlf\n' };
    const first = { ...plain, commit: await commit({ files: marked }) };
    const { ignored } = await sandbox.sync(first);
    await recreate(sandbox);
    const restarted = await sandbox.sync(first);
    assert.deepEqual([restarted.isWithoutGit, restarted.pointers], [true, ['big.bin']]);
    up();
    const next = await sandbox.sync({ ...first, commit: await commit({ files: { 'sub/b.bat': 'b\n' } }) });
    assert.deepEqual([...(next.ignored ?? [])], [...(ignored ?? []), ['sub/b.bat', 'eol=crlf']]);
    assert.deepEqual(next.pointers, ['big.bin']);
  });

  test('has an empty dry run, and records another revision and start policy', async (t) => {
    const { sandbox, target } = await prepare(t, { revision: 'r1' });
    await recreate(sandbox);
    const startPolicy = 'useLastGood' as const;
    const dry = await sandbox.sync({ ...target, profile: { ...profile, dryRun: true } });
    assert.deepEqual([dry.kind, dry.plan.changes], ['planned', []]);
    await sandbox.sync({ ...target, revision: 'r2', profile: { ...profile, startPolicy } });
    const { revision, startPolicy: noted } = (await sandbox.applied()) ?? {};
    assert.deepEqual([revision, noted], ['r2', startPolicy]);
  });

  test('can have foreign files, and those that are no longer mapped', async (t) => {
    const { sandbox, target, commit, at } = await prepare(t);
    await writeFile(at('found'), '1');
    await writeFile(at('taken'), 'theirs');
    const next = { ...target, commit: await commit({ files: { found: '1', taken: '1', a: null } }) };
    const keeping = { ...next, profile: { ...profile, prune: false } };
    await sandbox.sync(keeping);
    await recreate(sandbox);
    const { plan } = await sandbox.sync(keeping);
    assert.deepEqual([plan.changes, plan.unchanged], [[], 5]);
  });
});

suite('a new pod needs the git server', () => {
  /** Differences in the intent. */
  const wishes: Record<string, (target: Target) => Partial<Target>> = {
    'for another commit': () => ({ commit: 'f'.repeat(40) }),
    'for no templates': () => ({ profile: { mappings: [mapping()] } }),
    'for a value in a mapping': () => ({
      profile: { mappings: [mapping({ template: true, destination: '{{ .Ref }}' })] },
    }),
    'for a patch': () => ({
      profile: { mappings: [mapping({ template: true, patches: [{ file: 'a', set: { x: '1' } }] })] },
    }),
    'for an exclude': () => ({ profile: { ...profile, excludePatterns: ['a'] } }),
    'for groupWrite': () => ({ profile: { ...profile, groupWrite: true } }),
    'for links': () => ({ profile: { ...profile, links: 'refuse' } }),
    'for submodules': () => ({ submodules: true }),
    'for a value in a template': () => ({ ref: 'other' }),
    'for a signature': () => ({ verify: 'head' as const }),
  };
  for (const [what, change] of Object.entries(wishes)) {
    test(what, slow, async (t) => {
      const { sandbox, target } = await prepare(t);
      const before = await sandbox.files();
      await recreate(sandbox);
      await assert.rejects(sandbox.sync({ ...target, ...change(target) }), { name: /^T(ransient|erminal)Error$/ });
      assert.deepEqual(await sandbox.files(), before);
    });
  }

  const damages: Record<string, (at: (name: string) => string) => Promise<unknown>> = {
    'where a file has other content': (at) => writeFile(at('a'), '2'),
    'where a file is missing': (at) => rm(at('a')),
    'where a file is executable, and can not be read': (at) => chmod(at('a'), 0o311),
    'where a file is not executable, and another one is missing': async (at) => {
      await chmod(at('d/run'), 0o644);
      await rm(at('a'));
    },
    'where a link is in the place of a file': async (at) => {
      await rename(at('a'), at('other'));
      await symlink('other', at('a'));
    },
    'where a link is in the place of a folder': async (at) => {
      await rename(at('d'), at('other'));
      await symlink('other', at('d'));
    },
    'where the manifest is gone': (at) => rm(at('.sync-agent/manifest.jsonl')),
  };
  for (const [where, damage] of Object.entries(damages)) {
    for (const drift of ['repair', 'ignore'] as const) {
      test(`${where}, with drift: ${drift}`, slow, async (t) => {
        const { sandbox, target, at } = await prepare(t, { profile: { ...profile, drift } });
        await recreate(sandbox);
        await damage(at);
        await assert.rejects(sandbox.sync(target), { code: /^git\./ });
        up();
        if (drift === 'ignore' || where.includes('link')) return;
        await sandbox.sync(target);
        assert.deepEqual(await sandbox.files(), { a: '1', 'd/b': 'main', 'd/run': '#!' });
      });
    }
  }

  test('if the manifest was written by an agent that recorded no recipe', async (t) => {
    const { sandbox, target, at } = await prepare(t);
    await recreate(sandbox);
    const manifest = at('.sync-agent/manifest.jsonl');
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replaceAll(/"recipe":"[0-9a-f]+",?/g, ''));
    await assert.rejects(sandbox.sync(target), { code: /^git\./ });
  });

  test('if the pod now mounts another volume', async (t) => {
    const mounts: string[] = [];
    const { sandbox, sync, deliver } = await gitSandbox(t, 'without-git', { server, mounts });
    await deliver(files);
    t.after(up);
    await recreate(sandbox);
    mounts.push('d');
    await sandbox.restart();
    await assert.rejects(sync(), { code: /^git\./ });
  });
});
