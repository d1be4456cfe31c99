import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { contents, killAt } from '../support/kill-at.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

let server: GitDaemon;
before(async () => {
  server = await startGitDaemon();
});
after(() => server.stop());

/** More than the first sync of these files takes. */
const STEPS = 120;
const OWN = { own: 'of the gateway' };

/** Files of a commit in folders that come into place as a whole, one in the other, and next to such that do not. */
const filesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    ['f', 'few/a', ...['a', 'b', 'c', 'ä'].flatMap((name) => [`many/${name}`, `many/inner/${name}`])].map((name) => [
      name,
      `${name} ${text}`,
    ]),
  );

async function prepare(name: string) {
  const { url: repo, commit } = await server.createRepository(`new-folders-${name}`);
  const memory = new GitMemory();
  const [one, two] = [await commit({ files: filesOf('one') }), await commit({ files: filesOf('two') })];
  const start = async (t: TestContext) => {
    const sandbox = await createSandbox(t, { memory });
    for (const [file, text] of Object.entries(OWN)) fs.writeFileSync(path.join(sandbox.data, file), text);
    return sandbox;
  };
  return { start, one: { repo, commit: one }, two: { repo, commit: two } };
}

/** What of the agent's is in the volume but its manifest and its lock. */
const left = ({ data }: Sandbox): string[] =>
  ['staging', 'taken-over'].flatMap((name) => {
    const folder = path.join(data, '.sync-agent', name);
    const names = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    return names.filter((entry) => name !== 'staging' || entry.includes('/'));
  });

/** Runs something right before or after the first call that fits. */
function around(
  t: TestContext,
  name: 'mkdirSync' | 'renameSync' | 'unlinkSync',
  { fits, before, after }: { fits: (...paths: string[]) => boolean; before?: () => void; after?: () => void },
): void {
  const real = fs[name] as (...args: unknown[]) => unknown;
  const mock = t.mock.method(fs, name, ((...args: unknown[]) => {
    if (!fits(...args.map(String))) return real(...args);
    mock.mock.restore();
    syncBuiltinESMExports();
    before?.();
    const outcome = real(...args);
    after?.();
    return outcome;
  }) as never);
  syncBuiltinESMExports();
}

const isPlaced = (from: string, to: string) => /\/new-\d+$/.test(from) && /\/(?:many|inner)$/.test(to);

suite('folders that come into place with their files', () => {
  test('outlive a kill at any step of the first sync from there on', async (t) => {
    const { start, one, two } = await prepare('killed');
    for (let step = 1, isKilled = true; isKilled; step += 1) {
      assert.ok(step < STEPS, 'never reached the end');
      const sandbox = await start(t);
      const end = killAt(t, { step, hasLinks: true, from: /new-\d+/ });
      await sandbox.sync(one).catch((error) => assert.match(error.message, /EIO: killed|took over/));
      isKilled = end();
      for (const text of Object.values(await sandbox.files())) {
        assert.match(text, /^$|^of the gateway$|^\S+ one$/, `step ${step}`);
      }
      await sandbox.restart();
      await sandbox.sync(two);
      assert.deepEqual(await sandbox.files(), sorted({ ...filesOf('two'), ...OWN }), `step ${step}`);
      assert.deepEqual(left(sandbox), [], `step ${step}`);
    }
  });

  test('are of one commit, whichever call an agent makes late that lost the volume', async (t) => {
    const { start, one, two } = await prepare('held-up');
    for (let step = 1, isHeld = true; isHeld; step += 1) {
      assert.ok(step < STEPS, 'never reached the end');
      const sandbox = await start(t);
      let goOn: (() => void) | undefined;
      const onHeld = (call: () => void) => {
        goOn = call;
      };
      const end = killAt(t, { step, hasLinks: true, from: /new-\d+/, onHeld });
      await sandbox.sync(one).catch((error) => assert.match(error.message, /EIO: /));
      isHeld = end();
      await sandbox.restart();
      await sandbox.sync(two);
      try {
        goOn?.();
      } catch {} // that it fails is the best that can happen
      assert.deepEqual(await sandbox.files(), sorted({ ...filesOf('two'), ...OWN }), `step ${step}`);
    }
  });

  const moments = [
    { name: 'takes it away', call: 'renameSync', fits: (from: string) => /\/new-\d+$/.test(from) },
    { name: 'empties it', call: 'unlinkSync', fits: (file: string) => /\/[abc]$/.test(file) },
  ] as const;
  for (const { name, call, fits } of moments) {
    test(`lose nothing where an agent that is held up moves one when the next owner ${name}`, async (t) => {
      const { start, one, two } = await prepare(call);
      const sandbox = await start(t);
      const goOn = await holdUp(t, sandbox, one);
      assert.deepEqual(fs.readdirSync(path.join(sandbox.data, 'many')), [], 'it was made');
      await sandbox.restart();
      let isLate = false;
      const before = () => {
        try {
          goOn();
        } catch {} // there is nothing to move any more
        fs.writeFileSync(path.join(sandbox.data, 'many/a'), 'THEIRS');
        isLate = true;
      };
      around(t, call, { fits, before });
      await sandbox.sync(two);
      assert.ok(isLate);
      assert.deepEqual(await sandbox.files(), sorted({ ...filesOf('two'), ...OWN }));
      assert.ok(contents(sandbox).includes('THEIRS'));
    });
  }

  test('take in what somebody puts there right after they were made', async (t) => {
    const { start, one } = await prepare('met');
    const sandbox = await start(t);
    const theirs = path.join(sandbox.data, 'many/theirs');
    around(t, 'renameSync', { fits: isPlaced, before: () => fs.writeFileSync(theirs, 'THEIRS') });
    await sandbox.sync(one);
    assert.deepEqual(await sandbox.files(), sorted({ ...filesOf('one'), ...OWN, 'many/theirs': 'THEIRS' }));
    assert.deepEqual(left(sandbox), []);
  });

  test('leave a file of somebody else that came under the name of one of theirs, and are taken back', async (t) => {
    const { start, one } = await prepare('conflict');
    const sandbox = await start(t);
    const theirs = path.join(sandbox.data, 'many/b');
    around(t, 'renameSync', { fits: isPlaced, before: () => fs.writeFileSync(theirs, 'THEIRS') });
    await assert.rejects(sandbox.sync(one), { code: 'data.changed' });
    assert.deepEqual(await sandbox.files(), { 'many/b': 'THEIRS', ...OWN });
    assert.deepEqual(left(sandbox), []);
    await sandbox.sync(one);
    assert.deepEqual(await sandbox.files(), sorted({ ...filesOf('one'), ...OWN }));
    assert.ok(contents(sandbox).includes('THEIRS'));
  });

  test('replace no link, file or folder that somebody puts in the place of one that was just made', async (t) => {
    const { start, one } = await prepare('exchanged');
    const exchanges = {
      link: (folder: string) => fs.symlinkSync('nowhere', folder),
      file: (folder: string) => fs.writeFileSync(folder, 'THEIRS'),
    };
    for (const exchange of Object.values(exchanges)) {
      const sandbox = await start(t);
      const many = path.join(sandbox.data, 'many');
      const before = () => {
        fs.rmdirSync(many);
        exchange(many);
      };
      around(t, 'renameSync', { fits: isPlaced, before });
      await assert.rejects(sandbox.sync(one), { code: 'data.changed' });
      const { many: found, ...others } = await sandbox.files();
      assert.match(found ?? '', /^THEIRS$|^-> nowhere$/);
      assert.deepEqual(others, OWN);
    }
  });

  test('come file by file where a file system does not move folders, or gives them other modes', async (t) => {
    const { start, one } = await prepare('file-by-file');
    const refused = await start(t);
    const real = fs.renameSync;
    const mock = t.mock.method(fs, 'renameSync', (from: string, to: string) => {
      if (isPlaced(from, to)) throw Object.assign(new Error('EXDEV: played'), { code: 'EXDEV' });
      real(from, to);
    });
    syncBuiltinESMExports();
    await refused.sync(one);
    mock.mock.restore();
    syncBuiltinESMExports();
    const other = await start(t);
    const many = path.join(other.data, 'many');
    around(t, 'mkdirSync', { fits: (folder) => folder.endsWith('/many'), after: () => fs.chmodSync(many, 0o2755) });
    await other.sync(one);
    assert.equal(fs.statSync(many).mode & 0o7777, 0o2755);
    for (const sandbox of [refused, other]) {
      assert.deepEqual(await sandbox.files(), sorted({ ...filesOf('one'), ...OWN }));
      assert.deepEqual(left(sandbox), []);
    }
  });

  test('are moved as a whole, and may be written to by the group where the profile says so', async (t) => {
    const { start, one } = await prepare('group');
    const sandbox = await start(t);
    const link = t.mock.method(fs, 'linkSync');
    syncBuiltinESMExports();
    await sandbox.sync({ ...one, profile: { groupWrite: true } });
    const linked = link.mock.calls.map(({ arguments: [, to] }) => path.basename(String(to)));
    link.mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual(linked.filter((name) => !name.endsWith('.json')).sort(), ['a', 'f']);
    for (const folder of ['few', 'many', 'many/inner']) {
      assert.equal(fs.statSync(path.join(sandbox.data, folder)).mode & 0o777, 0o775, folder);
    }
  });
});

const sorted = (files: Record<string, string>) => Object.fromEntries(Object.entries(files).sort());

/** Holds an agent up in its first sync right before it moves the first folder into place; gives what it would do. */
async function holdUp(t: TestContext, sandbox: Sandbox, target: { repo: string; commit: string }): Promise<() => void> {
  let goOn = () => {};
  const onHeld = (call: () => void) => {
    goOn = call;
  };
  const end = killAt(t, { step: 2, hasLinks: true, from: /\/many$/, onHeld });
  await assert.rejects(sandbox.sync(target), /EIO: killed/);
  end();
  return goOn;
}
