import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, realpathSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { chdir, cwd } from 'node:process';
import { after, before, suite, type TestContext, test } from 'node:test';
import { BlobReader } from '../../../../agent/git/blob-reader.ts';
import { Folder } from '../../../../agent/volume/folder.ts';
import { WorkingFolder } from '../../../../agent/volume/working-folder.ts';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import { mockCalls } from '../support/mock-calls.ts';
import { createSandbox } from '../support/sandbox.ts';

const limits = (soft: string) => `Max core file size        ${soft.padEnd(20)} unlimited            bytes     \n`;

/** Plays the limits that Linux says this process has; undefined: none, as without /proc. Gives what ends it. */
function playLimits(t: TestContext, said: string | undefined): () => void {
  return mockCalls(t, ['readFileSync'], (_, args, real) => {
    if (args[0] !== '/proc/self/limits') return real(...args);
    if (said === undefined) throw Object.assign(new Error('ENOENT: played'), { code: 'ENOENT' });
    return said;
  });
}

suite('a folder is entered only where a crash leaves no core dump:', () => {
  const cases: [title: string, said: string | undefined, isEntered: boolean][] = [
    ['none is written', limits('0'), true],
    ['any is', limits('unlimited'), false],
    ['a small one is', limits('1'), false],
    ['nobody knows', undefined, false],
  ];
  for (const [title, said, isEntered] of cases) {
    test(`${title}: ${isEntered ? 'yes' : 'no'}`, async (t) => {
      const home = cwd();
      const { path: place } = await makeTemporaryFolder('working-');
      const folder = Folder.openAt(place);
      const end = playLimits(t, said);
      try {
        const working = new WorkingFolder();
        const name = working.at({ folder, name: 'x' });
        assert.deepEqual([cwd(), name], isEntered ? [realpathSync(place), 'x'] : [home, folder.at('x')]);
        working.leave();
        assert.equal(cwd(), home);
      } finally {
        end();
        folder.close();
      }
    });
  }
});

test('a folder that cannot be entered is written to by its path, which says what is wrong', async (t) => {
  const home = cwd();
  const { path: place } = await makeTemporaryFolder('working-');
  const folder = Folder.openAt(place);
  const end = playLimits(t, limits('0'));
  const working = new WorkingFolder();
  folder.close();
  assert.equal(working.at({ folder, name: 'x' }), folder.at('x'));
  working.leave();
  end();
  assert.equal(cwd(), home);
});

test('a process that crashes in the middle of it leaves what it wrote, and no more', async () => {
  const { path: home } = await makeTemporaryFolder('home-');
  const { path: place } = await makeTemporaryFolder('working-');
  const at = (name: string) => JSON.stringify(path.join(import.meta.dirname, '../../../../agent/volume', name));
  const script = `
    const { Folder } = await import(${at('folder.ts')});
    const { WorkingFolder } = await import(${at('working-folder.ts')});
    const { abort } = await import('node:process');
    const { writeFileSync } = await import('node:fs');
    const folder = Folder.openAt(${JSON.stringify(place)});
    writeFileSync(new WorkingFolder().at({ folder, name: 'written' }), '');
    abort();`;
  const crash = 'ulimit -c 64 && exec "$0" --input-type=module --eval "$1"';
  const { signal } = spawnSync('sh', ['-c', crash, process.execPath, script], { cwd: home });
  assert.deepEqual([signal, readdirSync(place)], ['SIGABRT', ['written']]);
});

test('a process whose folder was removed meanwhile does not stay in the volume', async (t) => {
  const home = cwd();
  const { path: place } = await makeTemporaryFolder('working-');
  const folder = Folder.openAt(place);
  t.after(() => folder.close());
  const left = mkdtempSync(path.join(place, 'left-'));
  const end = playLimits(t, limits('0'));
  chdir(left);
  try {
    const working = new WorkingFolder();
    working.at({ folder, name: 'x' });
    rmdirSync(left);
    working.leave();
    assert.equal(cwd(), '/');
  } finally {
    chdir(home);
    end();
  }
});

suite('during a sync', () => {
  const small = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`${n % 7}/${n}`, `${n}`]));
  const files = { ...small, large: 'x'.repeat(2 ** 20), '3/large': 'y'.repeat(2 ** 20) };
  let server: GitDaemon;
  before(async () => {
    server = await startGitDaemon();
  });
  after(() => server.stop());

  test('the process is in the volume only while nothing else can run', async (t) => {
    const home = cwd();
    const { url: repo, commit } = await server.createRepository('working-folder');
    const sandbox = await createSandbox(t);
    const target = { repo, commit: await commit({ files }) };
    const endOfLimits = playLimits(t, limits('0'));
    const [writing, others] = [new Set<string>(), new Set<string>()];
    const end = mockCalls(t, ['openSync'], (_, args, real) => {
      if (args[1] === 'wx' && !String(args[0]).includes('/')) writing.add(cwd());
      return real(...args);
    });
    const watch = () => {
      others.add(cwd());
      turn = setImmediate(watch);
    };
    let turn = setImmediate(watch);
    await sandbox.sync(target).finally(() => {
      clearImmediate(turn);
      end();
      endOfLimits();
    });
    assert.deepEqual([...others, cwd()], [home, home]);
    assert.ok(writing.size >= 7, `${[...writing]}`);
    for (const folder of writing) assert.ok(folder.startsWith(realpathSync(sandbox.data)), folder);
    assert.deepEqual(await sandbox.files(), files);
  });

  test('a file that cannot be written leaves it out of the volume', async (t) => {
    const home = cwd();
    const { url: repo, commit } = await server.createRepository('unwritten');
    const sandbox = await createSandbox(t);
    const target = { repo, commit: await commit({ files: small }) };
    const endOfLimits = playLimits(t, limits('0'));
    let where = '';
    const end = mockCalls(t, ['fstatSync'], (_, args, real) => {
      if (cwd() === home) return real(...args);
      where = cwd();
      throw Object.assign(new Error('played'), { code: 'ENOSPC' });
    });
    await assert.rejects(
      sandbox.sync(target).finally(() => {
        end();
        endOfLimits();
      }),
      { code: 'ENOSPC' },
    );
    assert.ok(where.startsWith(realpathSync(sandbox.data)), where);
    assert.equal(cwd(), home);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('files whose content takes longer to look for than a slice lasts come as well', async (t) => {
    const { url: repo, commit } = await server.createRepository('slow');
    const sandbox = await createSandbox(t);
    const target = { repo, commit: await commit({ files: { a: '1', b: '2' } }) };
    t.mock.method(BlobReader.prototype, 'openNow', () => {
      for (const began = performance.now(); performance.now() - began < 15; );
    });
    await sandbox.sync(target, AbortSignal.timeout(20_000));
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2' });
  });
});
