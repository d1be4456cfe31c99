import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, realpathSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { chdir, cwd } from 'node:process';
import { after, before, suite, type TestContext, test } from 'node:test';
import { Folder } from '../../../../agent/volume/folder.ts';
import { WorkingFolder } from '../../../../agent/volume/working-folder.ts';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import { mockCalls } from '../support/mock-calls.ts';
import { createSandbox } from '../support/sandbox.ts';

const UNLIMITED = 'Max core file size        unlimited            unlimited            bytes     \n';
const NONE = 'Max core file size        0                    unlimited            bytes     \n';

/** Plays what Linux says of core dumps; undefined: nothing, as without /proc. Gives what ends it. */
function playCoreDumps(t: TestContext, pattern: string | undefined, limits = UNLIMITED): () => void {
  const said: Record<string, string | undefined> = {
    '/proc/sys/kernel/core_pattern': pattern,
    '/proc/self/limits': limits,
  };
  return mockCalls(t, ['readFileSync'], (_, args, real) => {
    const file = String(args[0]);
    if (!(file in said)) return real(...args);
    if (said[file] === undefined) throw Object.assign(new Error('ENOENT: played'), { code: 'ENOENT' });
    return said[file];
  });
}

suite('a process that crashes leaves nothing in the folder that it writes to:', () => {
  const cases: [title: string, pattern: string | undefined, limits: string, isEntered: boolean][] = [
    ['dumps go to a program', '|/usr/lib/systemd/systemd-coredump %P\n', UNLIMITED, true],
    ['dumps go to a folder of their own', '/var/crash/core.%p\n', UNLIMITED, true],
    ['dumps are off', 'core\n', NONE, true],
    ['dumps would go there', 'core\n', UNLIMITED, false],
    ['dumps would go below it', 'dumps/core\n', UNLIMITED, false],
    ['dumps of one byte at least', 'core\n', NONE.replace(' 0 ', ' 1 '), false],
    ['no pattern', '\n', UNLIMITED, false],
    ['nobody knows', undefined, NONE, false],
  ];
  for (const [title, pattern, limits, isEntered] of cases) {
    test(`${title}: it is ${isEntered ? '' : 'not '}entered`, async (t) => {
      const home = cwd();
      const { path: place } = await makeTemporaryFolder('working-');
      const folder = Folder.openAt(place);
      const end = playCoreDumps(t, pattern, limits);
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
  const crash = 'ulimit -c "$(ulimit -H -c)" && exec "$0" --input-type=module --eval "$1"';
  const { signal } = spawnSync('sh', ['-c', crash, process.execPath, script], { cwd: home });
  assert.deepEqual([signal, readdirSync(place)], ['SIGABRT', ['written']]);
});

test('a process whose folder was removed meanwhile does not stay in the volume', async (t) => {
  const home = cwd();
  const { path: place } = await makeTemporaryFolder('working-');
  const folder = Folder.openAt(place);
  t.after(() => folder.close());
  const left = mkdtempSync(path.join(place, 'left-'));
  const end = playCoreDumps(t, '|/usr/bin/collect\n');
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
  const small = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`${n % 7}/${n}`, `${n}`]));
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
    const endOfDumps = playCoreDumps(t, '|/usr/bin/collect\n');
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
      endOfDumps();
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
    const endOfDumps = playCoreDumps(t, '|/usr/bin/collect\n');
    let where = '';
    const end = mockCalls(t, ['fstatSync'], (_, args, real) => {
      if (cwd() === home) return real(...args);
      where = cwd();
      throw Object.assign(new Error('played'), { code: 'ENOSPC' });
    });
    await assert.rejects(
      sandbox.sync(target).finally(() => {
        end();
        endOfDumps();
      }),
      { code: 'ENOSPC' },
    );
    assert.ok(where.startsWith(realpathSync(sandbox.data)), where);
    assert.equal(cwd(), home);
    assert.deepEqual(await sandbox.files(), {});
  });
});
