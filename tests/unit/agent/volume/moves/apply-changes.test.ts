import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { hasJournal, writeJournal } from '../../../../../agent/volume/manifest/journal.ts';
import { ManifestFile } from '../../../../../agent/volume/manifest/manifest-file.ts';
import { applyChanges } from '../../../../../agent/volume/moves/apply-changes.ts';
import { VolumeLock } from '../../../../../agent/volume/state/volume-lock.ts';
import type { Logger } from '../../../../../shared/log.ts';
import { describeKill, everyStep, failAt, STRIDE } from '../../support/kill-at.ts';
import { createLocalRepository, localAgents, localSandbox } from '../../support/local-sandbox.ts';
import { identityOf } from '../../support/lock-agents.ts';
import { emptyPlan } from '../../support/memory-volume.ts';
import { createSandbox, type Sandbox } from '../../support/sandbox.ts';

const isRoot = process.getuid?.() === 0;
const UNPRIVILEGED_UID = 65_534;

/** Returns all entries of the data volume with their modes, and the manifest, without the lock and times. */
async function snapshot({ data }: Sandbox): Promise<Record<string, string>> {
  const entries = await readdir(data, { recursive: true, withFileTypes: true });
  const pairs = entries.map(async (entry) => {
    const file = path.join(entry.parentPath, entry.name);
    const { mode } = await stat(file);
    return [
      path.relative(data, file),
      `${mode.toString(8)} ${entry.isFile() ? await readFile(file, 'utf8') : ''}`,
    ] as const;
  });
  const all = (await Promise.all(pairs)).filter(([name]) => !/^\.sync-agent\/(agent\.lock|owner\.json)$/.test(name));
  return Object.fromEntries(all.sort());
}

/** Two commits that differ in every way that files can. */
async function prepare(t: TestContext) {
  const { targetOf, createAgent } = await localAgents(t);
  const run = { content: '#!', executable: true };
  const first = await targetOf({
    a: '1',
    b: '1',
    run,
    'to-folder': '1',
    'to-file/x/y': '1',
    'goes/deep/z': '1',
    stays: '1',
  });
  const second = await targetOf({
    a: '2',
    b: null,
    run: '#!',
    'to-folder': null,
    'to-folder/x': '2',
    'to-file/x/y': null,
    'to-file': '2',
    'goes/deep/z': null,
    'new/er/c': '2',
  });
  return { first, second, createAgent };
}

/** Number of changes in the sync between them. */
const STEPS = { atLeast: 25, atMost: 200 };

suite('a failed sync leaves everything as it was', () => {
  test('at any of its steps, and delivers the desired tree on the next attempt', async (t) => {
    const { first, second, createAgent } = await prepare(t);
    const reference = await createAgent();
    await reference.sync(second);
    const wanted = await reference.files();
    let undone = 0;
    await everyStep(t, STEPS, async (step) => {
      const sandbox = await createAgent();
      await sandbox.sync(first);
      await writeFile(path.join(sandbox.data, 'own'), 'of the gateway');
      const before = await snapshot(sandbox);
      const played = failAt(sandbox.data, step, 'EACCES');
      const outcome = await sandbox.sync(second).then(() => 'done', String);
      played.end();
      assert.match(outcome, /^done$|EACCES: played/);
      const after = await snapshot(sandbox);
      // After all moves, only replaced files remain to be removed.
      if (after['new/er/c'] === undefined) {
        undone += 1;
        assert.deepEqual(after, before, describeKill({ step }, played));
      } else assert.deepEqual(await sandbox.files(), { ...wanted, own: 'of the gateway' }, `at ${step}`);
      await sandbox.restart();
      await sandbox.sync(second);
      assert.deepEqual(await sandbox.files(), { ...wanted, own: 'of the gateway' }, `after step ${step}`);
      return played;
    });
    assert.ok(undone >= STEPS.atLeast / 2 / STRIDE, `only ${undone} were taken back`);
  });

  test('on a full disk, which the report names', {
    skip: !isRoot && 'a small file system needs root',
  }, async (t) => {
    const sandbox = await createSandbox(t);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', sandbox.data], { stdio: 'ignore' });
    } catch {
      return t.skip('no file system can be mounted here');
    }
    await sandbox.restart();
    try {
      await fillUp(sandbox);
    } finally {
      execFileSync('umount', ['-l', sandbox.data]);
    }
  });

  test("in a directory that isn't its own", { skip: !isRoot && 'another user needs root' }, async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t, 'denied');
    await chmod(sandbox.directory, 0o755);
    await chown(sandbox.data, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
    const locked = at('locked');
    await mkdir(locked, { mode: 0o755 });
    await writeFile(path.join(locked, 'x'), 'theirs');
    await deliver({ a: '1', 'b/c': '1', 'locked/x': '1' }, { dryRun: true });
    execFileSync('chown', ['-R', `${UNPRIVILEGED_UID}`, sandbox.repo]);
    process.seteuid?.(UNPRIVILEGED_UID);
    try {
      await assert.rejects(sync(), { code: 'EACCES' });
      assert.deepEqual(await sandbox.files(), { 'locked/x': 'theirs' });
      assert.deepEqual((await readdir(sandbox.data)).sort(), ['.sync-agent', 'locked']);
    } finally {
      process.seteuid?.(0);
    }
    await chown(locked, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
    await sync();
    assert.deepEqual(await sandbox.files(), { a: '1', 'b/c': '1', 'locked/x': '1' });
  });
});

/** For a data volume of one megabyte. */
async function fillUp(sandbox: Sandbox): Promise<void> {
  const { url: repo, commit } = await createLocalRepository('full');
  await sandbox.sync({ repo, commit: await commit({ files: { a: '1', b: '1' } }) });
  await writeFile(path.join(sandbox.data, 'own'), Buffer.alloc(500_000, 'x'));
  const before = await snapshot(sandbox);
  const second = await commit({ files: { a: '2', b: null, c: Buffer.alloc(900_000, 'y') } });
  await assert.rejects(sandbox.sync({ repo, commit: second }), { code: 'ENOSPC' });
  assert.deepEqual(await snapshot(sandbox), before, 'not even the space is taken');
  await writeFile(path.join(sandbox.data, 'own'), '');
  await sandbox.sync({ repo, commit: second });
  assert.deepEqual(Object.keys(await sandbox.files()), ['a', 'c', 'own']);
}

suite('a sync of changes', () => {
  test('replaces read-only files', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t, 'read-only');
    await writeFile(at('a'), 'theirs', { mode: 0o444 });
    await deliver({ a: '1' });
    await chmod(at('a'), 0o444);
    await deliver({ a: '2' });
    assert.deepEqual(await sandbox.files(), { a: '2' });
  });
});

/** Removes a directory of the agent. */
const PLAN = { ...emptyPlan(), directories: { create: [], clear: [], prune: ['old'] } };
const applied = { ref: 'main', commit: 'c', time: 't' };

/** A plan's target, for plans that deliver no content. */
async function makeTarget(t: TestContext, log: Logger) {
  const { root } = await createSandbox(t);
  const lock = new VolumeLock(root, identityOf('a'));
  await lock.hold();
  t.after(() => lock.release());
  const manifestFile = new ManifestFile(root, log);
  const openContents = () => assert.fail('no content is needed');
  return { root, lock, manifestFile, openContents, values: new Map(), groupWrite: false, log };
}

suite('a change of the volume', () => {
  test("that is deferred before the first file moves isn't logged as undone", async (t) => {
    const lines: string[] = [];
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
    const beforeMoves = async () => {
      throw new Error('somebody edits');
    };
    const target = { ...(await makeTarget(t, log)), beforeMoves };
    await assert.rejects(applyChanges(PLAN, target, applied), /somebody edits/);
    assert.deepEqual(lines, []);
  });

  test("that finds the journal of another sync undoes that sync, and isn't made", async (t) => {
    const target = await makeTarget(t, pino({ level: 'silent' }));
    const { root, manifestFile } = target;
    const oldEntry = { size: 3, mtimeMs: 1, ino: 1, sha256: createHash('sha256').update('old').digest('hex') };
    await writeJournal([{ kind: 'file', path: 'a', number: 0, oldEntry }], root);
    root.openAgentDirectory('saved').close();
    await writeFile(path.join(root.agentDirectory, 'saved/0'), 'old');
    await assert.rejects(applyChanges(PLAN, target, applied), { name: 'TransientError', code: 'data.changed' });
    assert.equal(await readFile(path.join(root.path, 'a'), 'utf8'), 'old');
    assert.equal((await manifestFile.read()).applied, undefined);
    assert.equal(hasJournal(root), false);
    await applyChanges(PLAN, target, applied);
    assert.deepEqual((await manifestFile.read()).applied, applied);
  });
});
