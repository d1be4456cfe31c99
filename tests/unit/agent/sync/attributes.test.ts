import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { attributesIn, judgeAttributes } from '../../../../agent/plan/content-attributes.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { slow } from '../../../support/depth.ts';
import { shareGitServer } from '../../../support/git-server-for.ts';
import { createLfsHost } from '../../../support/lfs-host.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

const server = await shareGitServer();
const lfs = createLfsHost(`${server.url}/any.git/info/lfs/objects`);
server.lfs = lfs.listener;

let repositories = 0;
const createRepository = () => server.createRepository(`attributes-${++repositories}`);

const mapping = (source: string) => ({ source, destination: source, required: true, template: false });

type Target = Parameters<Sandbox['sync']>[0];

async function ignoredIn(sandbox: Sandbox, target: Target): Promise<Record<string, string>> {
  const { ignored } = await sandbox.sync(target);
  return Object.fromEntries([...(ignored ?? [])].sort());
}

suite('attributes that change content', () => {
  const files = {
    '.gitattributes': [
      '[attr]windows text eol=crlf',
      '*.bat windows',
      '*.sh text eol=lf',
      '* text=auto',
      '*.u16 text working-tree-encoding=UTF-16LE-BOM',
      'ver.txt ident',
      '*.age filter=git-crypt diff=git-crypt',
      '*.png binary',
    ].join('\n'),
    'run.bat': '@echo a\n',
    'run.sh': 'a\n',
    'a.u16': 'héllo\n',
    'ver.txt': '$Id$\n',
    'secret.age': 'x',
    'a.png': 'x',
    'sub/.gitattributes': 'keep.bat -text\nold.txt crlf eol=crlf\n',
    'sub/keep.bat': 'a\n',
    'sub/old.txt': 'a\n',
    'sub/run.bat': 'a\n',
  };
  test('are exactly those that make a checkout differ, and the bytes are those in git', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'attributes', { server });
    const target = { repo, commit: await commit({ files }) };
    const all = await ignoredIn(sandbox, { ...target, profile: { dryRun: true } });
    assert.deepEqual([all['a.u16'], all['sub/old.txt']], ['working-tree-encoding=UTF-16LE-BOM', 'eol=crlf']);
    for (let check = 0; check < 2; check += 1) assert.deepEqual(await ignoredIn(sandbox, target), all);
    assert.deepEqual(await sandbox.files(), files);
    const checkout = path.join(sandbox.directory, 'checkout');
    await runCommand('git', ['-c', 'core.autocrlf=false', 'clone', '--quiet', repo, checkout], {
      env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', HOME: sandbox.directory },
    });
    const differing: string[] = [];
    for (const [file, content] of Object.entries(files)) {
      if (!(await readFile(path.join(checkout, file))).equals(Buffer.from(content))) differing.push(file);
    }
    // No program is set for that filter, so git leaves the file as it is.
    assert.deepEqual([...differing, 'secret.age'].sort(), Object.keys(all));
  });

  test('apply from above a mapped directory, but only to mapped files', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'attributes', { server });
    const profile = { mappings: [mapping('sub')], excludePatterns: ['.gitattributes'] };
    assert.deepEqual(await ignoredIn(sandbox, { repo, commit: await commit({ files }), profile }), {
      'sub/old.txt': 'eol=crlf',
      'sub/run.bat': 'eol=crlf',
    });
  });

  test('are those of each commit, even soon after the previous one', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'attributes', { server });
    const profile = { mappings: [mapping('sub')] };
    const attributes = '*.bat eol=crlf\n';
    const stories: [Record<string, string | null>, Record<string, string>][] = [
      [{ 'sub/a.txt': '1', 'sub/b.bat': '1' }, {}],
      [{ '.gitattributes': attributes }, { 'sub/b.bat': 'eol=crlf' }],
      [
        { 'sub/c.bat': '1', 'sub/a.txt': '2' },
        { 'sub/b.bat': 'eol=crlf', 'sub/c.bat': 'eol=crlf' },
      ],
      [{ 'sub/b.bat': null }, { 'sub/c.bat': 'eol=crlf' }],
      [{ 'sub/.gitattributes': '*.bat -text\n' }, {}],
      [{ 'sub/.gitattributes': null, 'sub/c.bat': '2' }, { 'sub/c.bat': 'eol=crlf' }],
      [{ '.gitattributes': null }, {}],
    ];
    for (const [change, expected] of stories) {
      const target = { repo, commit: await commit({ files: change }), profile };
      assert.deepEqual(await ignoredIn(sandbox, target), expected);
    }
  });

  test('of a submodule apply in it, and not those of the repository', async (t) => {
    const repository = await createRepository();
    const lib = await createRepository();
    const submodule = await lib.commit({ files: { '.gitattributes': 'x ident\n', x: '1', y: '1' } });
    const gitmodules = `[submodule "lib"]\n\tpath = lib\n\turl = ${lib.url}\n`;
    const outside = { '.gitattributes': '* eol=crlf\n', '.gitmodules': gitmodules, lib: { submodule }, z: '1' };
    const target = { repo: repository.url, commit: await repository.commit({ files: outside }), submodules: true };
    const ignored = await ignoredIn(await createSandbox(t), {
      ...target,
      profile: { mappings: [mapping('lib'), mapping('z')] },
    });
    assert.deepEqual(ignored, { 'lib/x': 'ident', z: 'eol=crlf' });
  });

  test('are fetched if the git server omitted them', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'attributes', { server });
    const large = `# ${'x'.repeat(1_000)}\n`.repeat(80);
    const target = {
      repo,
      commit: await commit({ files: { '.gitattributes': `${large}*.bat eol=crlf\n`, 'sub/a.bat': '1' } }),
    };
    assert.deepEqual(await ignoredIn(sandbox, { ...target, profile: { mappings: [mapping('sub')] } }), {
      'sub/a.bat': 'eol=crlf',
    });
  });
});

suite('a file that looks like a Git LFS pointer', () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5\n`;

  test('is an ordinary file unless an attribute says otherwise', slow, async (t) => {
    const { sandbox, at, deliver } = await gitSandbox(t, 'attributes', { server });
    const requests = lfs.requests.length;
    const content = {
      'docs/pointer.txt': pointer,
      'docs/damaged.txt': `${pointer}ext-0-x sha256:b\n`,
      'a.bin': lfs.add('large'),
    };
    const files = { '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\ndocs/** !filter\n', ...content };
    const { pointers } = await deliver(files);
    assert.deepEqual(pointers, ['docs/damaged.txt', 'docs/pointer.txt']);
    const delivered = { ...files, 'a.bin': 'large' };
    assert.deepEqual(await sandbox.files(), delivered);
    await writeFile(at('docs/pointer.txt'), 'drift');
    await deliver({ x: '1' });
    await sandbox.restart();
    await deliver({ x: '2' });
    assert.deepEqual(await sandbox.files(), { ...delivered, x: '2' });
    assert.equal(lfs.requests.length - requests, 2, 'one batch, one object');
  });

  test('becomes its content, and the pointer again, as the attributes of a commit say', slow, async (t) => {
    const { commit, sandbox, sync } = await gitSandbox(t, 'attributes', { server });
    const profile = { mappings: [mapping('sub')] };
    const attributes = (text: string | null) => commit({ files: { '.gitattributes': text } });
    const first = await commit({ files: { 'sub/a': lfs.add('content'), 'sub/b': 'plain' } });
    const story: string[] = [];
    for (const id of [first, await attributes('* filter=lfs\n'), await attributes(null)]) {
      const { plan } = await sync(profile, id);
      const { 'sub/a': a = '', 'sub/b': b } = await sandbox.files();
      story.push(`${plan.changes.length} ${a.slice(0, 7)} ${b}`);
    }
    assert.deepEqual(story, ['2 version plain', '1 content plain', '1 version plain']);
  });
});

suite('judgeAttributes', () => {
  for (const [values, ignored] of [
    [{ text: 'auto', eol: 'lf' }, []],
    [{ text: 'unset', eol: 'crlf' }, []],
    [{ text: 'unspecified', crlf: 'unset', eol: 'crlf' }, []],
    [{ text: 'unspecified', crlf: 'input', eol: 'crlf' }, ['eol=crlf']],
    [{ text: 'set', crlf: 'unset', eol: 'crlf' }, ['eol=crlf']],
    [{ text: 'other', crlf: 'unset', eol: 'crlf' }, []],
    [{ eol: 'crlf' }, ['eol=crlf']],
    [{ 'working-tree-encoding': 'utf-8' }, []],
    [{ 'working-tree-encoding': 'unset' }, []],
    [{ 'working-tree-encoding': 'SHIFT-JIS', ident: 'set' }, ['ident', 'working-tree-encoding=SHIFT-JIS']],
    [{ filter: 'lfs', ident: 'set' }, ['ident']],
    [{ filter: 'x'.repeat(2_000) }, [`filter=${'x'.repeat(40)}`]],
  ] as const) {
    test(JSON.stringify(values).slice(0, 100), () => {
      assert.deepEqual(judgeAttributes(new Map(Object.entries(values))).ignored, ignored);
    });
  }

  test('queries nothing for attributes that change nothing', () => {
    assert.deepEqual(attributesIn(['* text=auto\n*.sh text eol=lf\n*.png binary\ndocs export-ignore\n']), []);
    assert.deepEqual(attributesIn(['*.bin filter=lfs -text\n']), ['filter']);
  });
});
