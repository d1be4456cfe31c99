import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { readContent } from '../../../../cli/client/read-content.ts';
import { type Answer, INSPECTION } from '../../../../shared/api/inspection.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor, shareGitServer } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository } from '../../../support/lfs-host.ts';
import { until } from '../../../support/until.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { createSandbox, mapped, type Sandbox } from '../support/sandbox.ts';

const server = await shareGitServer();

const large = 'x'.repeat(INSPECTION.fileBytes + 1);

/** A sandbox that has a commit, and a branch next to it. */
async function arrange(
  t: TestContext,
  files: Record<string, string>,
  other: Record<string, string>,
  source = 'config',
) {
  const { repository, sandbox } = await gitSandbox(t, 'inspect', { server });
  await repository.commit({ files: {} }); // the next one has a parent, which no clone has
  const commit = await repository.commit({ files });
  await repository.branch('other', commit);
  const branch = await repository.commit({ files: other, branch: 'other' });
  const target = { repo: repository.url, commit, profile: mapped(source) };
  await sandbox.sync(target);
  return { repository, commit, branch, sandbox, target };
}

const objectsOf = async ({ repo }: Sandbox) => (await readdir(repo, { recursive: true })).sort();
/** Refs and files of the clone, and the delivered files. */
const stateOf = async (sandbox: Sandbox) => [
  `${await sandbox.git.run([`--git-dir=${sandbox.repo}`, 'for-each-ref'])}`,
  await objectsOf(sandbox),
  await sandbox.files(),
];
const fetches = () => server.requests.filter(({ command }) => command === 'fetch').length;
/** Paths of the changes, with the reason why the content of one is left out. */
const say = ({ changes }: Answer) =>
  changes.map(({ path: file, leftOut }) => (leftOut ? `${file} ${leftOut}` : file)).sort();

/** Releases with a file `a`, and with a submodule that has a file `m`. */
async function arrangeModule(t: TestContext, at: string) {
  const { repository: module } = await gitSandbox(t, 'module', { server });
  const { repository, sandbox } = await gitSandbox(t, 'inspect', { server });
  const gitmodules = `[submodule "m"]\n\tpath = ${at}\n\turl = ${module.url}\n`;
  const releaseOf = async (content: string, branch = 'main') => {
    const submodule = await module.commit({ files: { m: content } });
    if (branch !== 'main') await repository.branch(branch, 'main');
    const directory = path.dirname(at);
    const files = { '.gitmodules': gitmodules, [at]: { submodule }, [path.join(directory, 'a')]: content };
    return { repo: repository.url, commit: await repository.commit({ files, branch }), submodules: true };
  };
  return { sandbox, releaseOf };
}

async function arrangeLfs(t: TestContext) {
  const host = await gitServerFor(t);
  const lfs = createLfsHost(`${host.url}/x.git/info/lfs/objects`);
  host.lfs = lfs.listener;
  return { lfs, repository: await createLfsRepository(host), sandbox: await createSandbox(t) };
}

suite('an inspection of another commit', () => {
  test('leaves the clone and the files unchanged, and the next syncs work', slow, async (t) => {
    const { sandbox, target, branch, commit } = await arrange(t, { 'config/a': '1\n' }, { 'config/a': '2\n' });
    const before = await stateOf(sandbox);
    const requests = fetches();
    assert.deepEqual((await sandbox.inspect({ kind: 'diff', ref: 'main', commit }, target)).changes, []);
    assert.equal(fetches(), requests, 'it is the current commit');
    for (const asked of [{ ref: 'other' }, { ref: branch, commit: branch }]) {
      const answer = await sandbox.inspect({ kind: 'diff', ...asked }, target);
      assert.equal(answer.commit, branch);
      assert.deepEqual([answer.changes[0]?.before?.text, answer.changes[0]?.after?.text], ['1\n', '2\n']);
      assert.deepEqual(await stateOf(sandbox), before);
    }
    const inspections = fetches();
    await sandbox.sync(target);
    assert.equal(fetches(), inspections);
    await sandbox.sync({ ...target, commit: branch });
    assert.deepEqual(await sandbox.files(), { 'config/a': '2\n' });
  });

  test('leaves a complete clone with submodules unchanged as well', slow, async (t) => {
    const { sandbox, releaseOf } = await arrangeModule(t, 'm');
    const target = { ...(await releaseOf('1')), profile: mapped('.') };
    const branch = await releaseOf('2', 'other');
    await sandbox.sync(target);
    const before = await stateOf(sandbox);
    const answer = await sandbox.inspect({ kind: 'diff', ref: 'other' }, target);
    assert.deepEqual(
      answer.changes.map(({ path: file }) => file),
      ['a', 'm/m'],
    );
    assert.deepEqual(await stateOf(sandbox), before);
    await sandbox.sync({ ...target, ...branch });
    assert.equal((await sandbox.files())['m/m'], '2');
  });

  test('works next to a shallow partial clone, for a commit that shares files with it or none', slow, async (t) => {
    const { repository, sandbox, target, commit } = await arrange(
      t,
      { 'config/a': '1', 'config/b': 'b'.repeat(1_000), film: large, 'config/.gitattributes': 'x text\n' },
      { 'config/a': '2', film: `${large}y` },
    );
    await repository.branch('apart', commit);
    await repository.forcePush({ files: { 'config/a': '3', 'config/b': null, 'config/c': 'c' }, branch: 'apart' });
    const orphan = (await repository.git('commit-tree', '-m', 'x', 'apart^{tree}')).trim();
    await repository.branch('apart', orphan);
    const before = await objectsOf(sandbox);
    for (let round = 0; round < 2; round += 1) {
      const shared = await sandbox.inspect({ kind: 'diff', ref: 'other' }, target);
      assert.deepEqual(say(shared), ['config/a']);
      const apart = await sandbox.inspect({ kind: 'diff', ref: 'apart' }, target);
      assert.deepEqual(say(apart), ['config/a', 'config/b', 'config/c']);
      const whole = await sandbox.inspect({ kind: 'diff', ref: 'other' }, { ...target, profile: mapped('.') });
      assert.deepEqual(say(whole), ['config/a', 'film large']);
      assert.deepEqual(await objectsOf(sandbox), before);
      await sandbox.restart();
    }
  });

  test('is removed by the next agent if a kill interrupted it', slow, async (t) => {
    const { sandbox, target } = await arrange(t, { 'config/a': '1' }, { 'config/a': '2' });
    const before = await objectsOf(sandbox);
    for (const next of [() => sandbox.sync(target), () => sandbox.inspect({ kind: 'diff', ref: 'other' }, target)]) {
      await mkdir(path.join(sandbox.repo, 'tmp_lookup/objects/pack'), { recursive: true });
      await writeFile(path.join(sandbox.repo, 'tmp_lookup/HEAD'), 'ref: refs/heads/main\n');
      await sandbox.restart();
      await next();
      assert.deepEqual(await objectsOf(sandbox), before);
    }
  });

  test('fetches no large file, and shows what fits into its limits', slow, async (t) => {
    const many = Object.fromEntries(
      Array.from({ length: INSPECTION.files + 5 }, (_, index) => [`config/many/${index}`, `${index}`]),
    );
    const files = { 'config/a': '1', 'config/big': 'small' };
    const { sandbox, target, repository } = await arrange(t, files, { 'config/big': large, ...many });
    const answer = await sandbox.inspect({ kind: 'diff', ref: 'other' }, target);
    const why = new Map(answer.changes.map(({ path: file, leftOut }) => [file, leftOut]));
    assert.equal(why.get('config/big'), 'notFetched');
    assert.equal(answer.changes.filter(({ after: now }) => now?.text !== undefined).length, INSPECTION.files - 1);
    assert.equal([...why.values()].filter((each) => each === 'limit').length, 6);
    const id = await repository.git('rev-parse', 'other:config/big');
    const objects = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)'];
    assert.ok(!`${await sandbox.git.run([`--git-dir=${sandbox.repo}`, ...objects])}`.includes(id.trim()));
  });

  test(
    "is refused when a sync would be: for a missing signature, or files that can't be delivered",
    slow,
    async (t) => {
      const { sandbox, target } = await arrange(t, { 'config/a': '1' }, { 'config/a': '2' });
      const asked = { kind: 'diff' as const, ref: 'other' };
      await mkdir(path.join(sandbox.directory, 'keys'));
      const part = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
      const key = Buffer.concat([part(Buffer.from('ssh-ed25519')), part(Buffer.alloc(32, 1))]).toString('base64');
      await writeFile(path.join(sandbox.directory, 'keys/ann'), `ssh-ed25519 ${key} ann\n`);
      await assert.rejects(sandbox.inspect(asked, { ...target, verify: 'head' }), { code: 'git.signature' });
      await assert.rejects(sandbox.inspect(asked, { ...target, profile: mapped('missing') }), /\bmissing\b/);
      await assert.rejects(sandbox.inspect({ kind: 'diff', ref: 'nowhere' }, target), {
        code: 'git.refNotFound',
        message: /\bnowhere\b/,
      });
    },
  );

  test('is refused when a sync would be, because a file fails a check', slow, async (t) => {
    const { sandbox, target } = await arrange(t, { 'config/a.json': '{}' }, { 'config/a.json': '{' });
    const checks = [{ files: '**/*.json', format: 'json' as const }];
    const checked = { ...target, profile: { ...target.profile, checks } };
    const refusal = { code: 'sync.CheckFailed' };
    await assert.rejects(sandbox.inspect({ kind: 'diff', ref: 'other' }, checked), refusal);
    assert.deepEqual((await sandbox.inspect({ kind: 'diff', ref: 'main' }, checked)).changes, []);
  });

  test("doesn't harm the clone if the commit's ID has another length", slow, async (t) => {
    const { sandbox, target } = await arrange(t, { 'config/a': '1' }, {});
    const asked = { kind: 'diff' as const, ref: 'main', commit: 'a'.repeat(64) };
    await assert.rejects(sandbox.inspect(asked, target), { code: 'git.objectFormat' });
    await sandbox.restart();
    await assert.rejects(sandbox.inspect(asked, target), { code: 'git.objectFormat' });
    const before = fetches();
    await sandbox.sync(target);
    assert.equal(fetches(), before);
  });

  test('leaves nothing behind if it is interrupted while the git server is silent', async (t) => {
    const { sandbox, target } = await arrange(t, { 'config/a': '1' }, { 'config/a': '2' });
    const before = await objectsOf(sandbox);
    const ending = new AbortController();
    server.fault = { hang: true };
    t.after(() => {
      server.fault = undefined;
    });
    const looking = assert.rejects(sandbox.inspect({ kind: 'diff', ref: 'other' }, target, ending.signal));
    while (!(await objectsOf(sandbox)).includes('tmp_lookup/shallow')) await setImmediate();
    ending.abort();
    await looking;
    assert.deepEqual(await objectsOf(sandbox), before);
  });

  test('needs no earlier sync', slow, async (t) => {
    const { target, branch } = await arrange(t, { 'config/a': '1' }, { 'config/a': '2' });
    const sandbox = await createSandbox(t);
    const answer = await sandbox.inspect({ kind: 'diff', ref: 'other' }, target);
    assert.deepEqual([answer.commit, say(answer)], [branch, ['config/a']]);
    assert.deepEqual(await sandbox.files(), {});
    await assert.rejects(sandbox.inspect({ kind: 'drift' }, target), { code: 'inspection.notComplete' });
  });

  test('never shows a Git LFS pointer as the content', slow, async (t) => {
    const { lfs, repository, sandbox } = await arrangeLfs(t);
    const first = lfs.add(Buffer.from('first\n'));
    const second = lfs.add(Buffer.from('second\n'));
    const commit = await repository.commit({ files: { 'config/a': first, 'config/b': first } });
    const target = { repo: repository.url, commit, profile: mapped('config') };
    await sandbox.sync(target);
    await repository.commit({ files: { 'config/a': second } });
    assert.deepEqual(say(await sandbox.inspect({ kind: 'diff', ref: 'main' }, target)), ['config/a lfs']);
    await writeFile(path.join(sandbox.data, 'config/b'), 'changed\n');
    assert.deepEqual(say(await sandbox.inspect({ kind: 'drift' }, target)), ['config/b lfs']);
  });

  test("doesn't disturb the retry of a failed sync", slow, async (t) => {
    const { lfs, repository, sandbox } = await arrangeLfs(t);
    const mappings = mapped('config').mappings.map((mapping) => ({ ...mapping, template: true }));
    const target = { repo: repository.url, profile: { mappings } };
    const first = await repository.commit({ files: { 'config/a': '1', 'config/b': '1' } });
    await sandbox.sync({ ...target, commit: first });
    const pointer = lfs.add(Buffer.from('of {{ .GatewayName }}\n'));
    const bad = await repository.commit({ files: { 'config/a': pointer, 'config/b': '{{ .Vars.missing }}' } });
    await assert.rejects(sandbox.sync({ ...target, commit: bad }), /missing/);
    const downloads = lfs.requests.length;
    assert.ok(downloads > 0);
    await sandbox.inspect({ kind: 'diff', ref: 'main', commit: first }, { ...target, commit: bad });
    const good = await repository.commit({ files: { 'config/b': '2' } });
    await sandbox.sync({ ...target, commit: good });
    assert.equal(lfs.requests.length, downloads);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'of edge\n', 'config/b': '2' });
  });
});

test("an inspection uses all of an answer's size, to the last byte", async (t) => {
  const text = 'x'.repeat(INSPECTION.fileBytes);
  const numbers = Array.from({ length: INSPECTION.bytes / INSPECTION.fileBytes + 1 }, (_, number) => 10 + number);
  const other = Object.fromEntries(numbers.map((number) => [`config/${number}`, text]));
  const { sandbox, target } = await arrange(t, { 'config/a': '1' }, other, '.');
  const answer = await sandbox.inspect({ kind: 'diff', ref: 'other' }, target);
  const last = numbers.pop();
  assert.deepEqual(say(answer), [...numbers.map((number) => `config/${number}`), `config/${last} limit`]);
});

suite('an inspection of delivered files', () => {
  test('follows no link, waits for no pipe, and shows no foreign content', async (t) => {
    const names = ['link', 'folder', 'above/a', 'big', 'changed'];
    const files = Object.fromEntries(names.map((name) => [`config/${name}`, `${name}\n`]));
    const { repository, sandbox } = await localSandbox(t, 'inspect');
    const commit = await repository.commit({ files: { ...files, 'config/found': 'found\n' } });
    const at = (name: string) => path.join(sandbox.data, 'config', name);
    await mkdir(at(''));
    await writeFile(at('found'), 'found\n');
    const target = { repo: repository.url, commit, profile: mapped('config') };
    await sandbox.sync(target);
    const secret = path.join(sandbox.directory, 'outside');
    await writeFile(secret, 'of the agent');
    for (const name of ['link', 'folder', 'above']) await rm(at(name), { recursive: true });
    await symlink(secret, at('link'));
    await symlink(sandbox.directory, at('above'));
    await mkdir(at('folder'));
    await writeFile(at('big'), large);
    await writeFile(at('found'), 'of somebody else');
    await writeFile(at('changed'), 'by hand\n');

    const answer = await sandbox.inspect({ kind: 'drift' }, target);
    const others = ['config/big large', 'config/folder noFile', 'config/found foreign', 'config/link noFile'];
    assert.deepEqual(say(answer), ['config/above/a', 'config/changed', ...others].sort());
    const kinds = new Map(answer.changes.map((change) => [change.path, change]));
    assert.deepEqual([kinds.get('config/above/a')?.kind, kinds.get('config/above/a')?.reason], ['delete', 'Missing']);
    assert.equal(kinds.get('config/changed')?.after?.text, 'by hand\n');
    assert.doesNotMatch(JSON.stringify(answer), /of the agent|of somebody else/);
  });

  test('fetches objects again that the clone has lost', slow, async (t) => {
    const { sandbox, target, commit } = await arrange(t, { 'config/a': '1\n' }, {});
    await rm(sandbox.repo, { recursive: true });
    await sandbox.restart();
    await sandbox.sync(target);
    await writeFile(path.join(sandbox.data, 'config/a'), '2\n');
    const answer = await sandbox.inspect({ kind: 'drift' }, target);
    assert.deepEqual([answer.commit, answer.changes[0]?.before?.text], [commit, '1\n']);
  });

  test('makes no patch for files of submodules', slow, async (t) => {
    const { sandbox, releaseOf } = await arrangeModule(t, 'config/m');
    const target = { ...(await releaseOf('1\n')), profile: mapped('config') };
    await sandbox.sync(target);
    for (const name of ['a', 'm/m']) await writeFile(path.join(sandbox.data, 'config', name), 'changed\n');
    assert.deepEqual(say(await sandbox.inspect({ kind: 'drift' }, target)), ['config/a', 'config/m/m submodule']);
  });
});

suite('an inspection of content', () => {
  const paths = ({ changes }: Answer) => changes.filter(({ kind }) => kind === 'add').map((change) => change.path);

  async function arrangeEdits(t: TestContext) {
    const { repository, sandbox } = await localSandbox(t, 'content');
    const files = {
      'config/a': 'a\n',
      'config/sub/b': 'b\n',
      'config/found': 'found\n',
      'config/own.key': 'x',
      one: '1',
    };
    const commit = await repository.commit({ files: { ...files, 'rendered/r': 'of {{ .GatewayName }}' } });
    const at = (name: string) => path.join(sandbox.data, name);
    await mkdir(at('etc'));
    await writeFile(at('etc/found'), 'found\n');
    const mappings = [
      { source: 'config', destination: 'etc' },
      { source: 'rendered', destination: 'etc', template: true },
      { source: 'one', destination: 'single/' },
    ];
    const target = { repo: repository.url, commit, profile: { mappings } };
    await sandbox.sync(target);
    const read = (file: string, offset = 0) => sandbox.inspect({ kind: 'content', path: file, offset }, target);
    return { sandbox, target, at, read };
  }

  test('reads the files of the agent, and new ones next to them, in parts of one version', async (t) => {
    const { sandbox, target, at, read } = await arrangeEdits(t);
    const bytes = randomBytes(2 * INSPECTION.chunkBytes + 7);
    await writeFile(at('etc/a'), bytes);
    await mkdir(at('etc/new'));
    await writeFile(at('etc/new/n'), 'n');
    await writeFile(at('etc/a.key'), 'n');
    await writeFile(at('foreign'), 'not in a delivered directory');
    await writeFile(at('single/foreign'), 'not in a delivered directory');
    const ask = async (offset: number) => await read('etc/a', offset);
    const versionOf = async () => (await read('etc/a')).content?.version;
    const isSettled = async () => {
      const version = await versionOf();
      return version === (await versionOf());
    };
    await until(isSettled, { describe: 'a file that no longer changes' });
    const found = await readContent(ask, INSPECTION.readBytes);
    assert.ok(found.kind === 'content' && found.content.equals(bytes));
    assert.deepEqual(await readContent(ask, bytes.length - 1), { kind: 'leftOut', why: 'large' });
    const { content } = await read('etc/new/n');
    assert.deepEqual([content?.data, content?.size], ['bg==', 1]);
    const listed = await sandbox.inspect({ kind: 'drift', withNew: true }, target);
    assert.deepEqual(paths(listed).sort(), ['etc/a.key', 'etc/new/n']);
    assert.deepEqual(say(listed), ['etc/a large', 'etc/a.key secret', 'etc/new/n']);
    const known = await sandbox.inspect({ kind: 'drift' }, target);
    assert.deepEqual(paths(known), []);
  });

  test('refuses everything that could be a secret, or of others', async (t) => {
    const { sandbox, at, read } = await arrangeEdits(t);
    const outside = path.join(sandbox.directory, 'outside');
    await writeFile(outside, 'of the agent');
    await symlink(outside, at('etc/link'));
    await symlink(sandbox.directory, at('etc/above'));
    await writeFile(at('etc/private'), 'x', { mode: 0o600 });
    const marked = Buffer.alloc(INSPECTION.chunkBytes + 100, 'x');
    marked.write('-----BEGIN RSA PRIVATE KEY-----', INSPECTION.chunkBytes - 10);
    await writeFile(at('etc/marked'), marked);
    await writeFile(at('foreign'), 'x');
    await rm(at('etc/sub'), { recursive: true });
    await symlink(sandbox.directory, at('etc/sub'));
    const why = async (file: string, offset = 0) => (await read(file, offset)).leftOut;
    for (const [file, reason] of [
      ['etc/r', 'template'],
      ['etc/found', undefined],
      ['foreign', 'foreign'],
      ['single/foreign', 'foreign'],
      ['etc/own.key', 'secret'],
      ['etc/private', 'secret'],
      ['etc/link', 'noFile'],
      ['etc/above/outside', 'noFile'],
      ['etc/sub/outside', 'noFile'],
      ['etc/sub/b', 'noFile'],
      ['etc', 'foreign'],
      ['etc/missing', 'noFile'],
      ['etc/.sync-agent/manifest', 'foreign'],
      ['.sync-agent/manifest', 'foreign'],
    ] as const)
      assert.equal(await why(file), reason, file);
    assert.equal(await why('etc/marked', INSPECTION.chunkBytes), 'secret', 'the key starts in the previous part');
    await writeFile(at('etc/marked'), `-----BEGIN PRIVATE KEY-----\n${'x'.repeat(9_000)}`);
    assert.equal(await why('etc/marked', 8_000), 'secret', 'the part is in the middle of the key');
    await writeFile(at('etc/marked'), Buffer.from('\ufeff-----BEGIN PRIVATE KEY-----', 'utf16le'));
    assert.equal(await why('etc/marked'), 'secret');
  });

  test('shows new files only of mappings that a sync has used, and that deliver no secrets', async (t) => {
    const { repository, sandbox } = await localSandbox(t, 'new');
    const commit = await repository.commit({ files: { 'app/a': 'a', 'secrets/s': 's', 'private/p': 'p' } });
    const mappings = [
      { source: 'app', destination: 'etc/app' },
      { source: 'secrets', destination: 'etc/secrets' },
      { source: 'private', destination: 'var', mode: '0600' },
    ];
    const target = { repo: repository.url, commit, profile: { mappings } };
    await sandbox.sync(target as never);
    for (const file of ['etc/app/n', 'etc/secrets/n', 'var/n', 'others'])
      await writeFile(path.join(sandbox.data, file), file);
    const why = async (file: string, profile: object = target.profile) =>
      (await sandbox.inspect({ kind: 'content', path: file, offset: 0 }, { ...target, profile } as never)).leftOut;
    assert.deepEqual(
      [await why('etc/app/n'), await why('etc/secrets/n'), await why('var/n'), await why('others')],
      [undefined, 'secret', 'secret', 'foreign'],
    );
    const wider = { mappings: [{ source: '.', destination: '.' }] };
    await assert.rejects(why('others', wider), { code: 'inspection.notSynced' });
  });

  test('starts again while a file changes, and gives up', async (t) => {
    const { at, read } = await arrangeEdits(t);
    let writes = 0;
    const ask = async (offset: number) => {
      if (writes < 3) {
        writes += 1;
        await writeFile(at('etc/a'), Buffer.alloc(2 * INSPECTION.chunkBytes, String(writes)));
      }
      return await read('etc/a', offset);
    };
    const found = await readContent(ask, INSPECTION.readBytes);
    const isPure = found.kind === 'content' && found.content.equals(Buffer.alloc(found.content.length, '3'));
    assert.ok(isPure || (found.kind === 'leftOut' && found.why === 'changing'));
    const restless = async (offset: number) => {
      await writeFile(at('etc/a'), Buffer.alloc(2 * INSPECTION.chunkBytes, String(offset)));
      return await read('etc/a', offset);
    };
    assert.deepEqual(await readContent(restless, INSPECTION.readBytes), { kind: 'leftOut', why: 'changing' });
  });
});
