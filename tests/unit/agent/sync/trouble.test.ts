import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { Git, type GitOptions } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { createRepository, gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

/** The real git, but for one of its commands. */
class TroubledGit extends Git {
  readonly #command: string;
  readonly #instead: string[];

  constructor(command: string, instead: string[]) {
    super(process.env);
    this.#command = command;
    this.#instead = instead;
  }

  override spawn(args: string[], options: GitOptions): ChildProcess {
    return super.spawn(args.includes(this.#command) ? this.#instead : args, options);
  }
}

suite('a sync', () => {
  test('recreates a clone that lost its objects, once', async (t) => {
    const { sandbox, at, sync, deliver } = await gitSandbox(t, 'damage');
    await deliver({ a: '1', b: '2' });
    await rm(path.join(sandbox.repo, 'objects/pack'), { recursive: true });
    await rm(at('a'));
    await sync();
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2' });
    assert.equal(sandbox.fetches, 2);
  });

  test('fetches files that a fetch omitted in one request', async (t) => {
    const { commit, sandbox, sync, deliver } = await gitSandbox(t, 'left-out');
    const large = 'x'.repeat(100_000);
    const profile = { mappings: [{ source: 'a', destination: 'a', required: true, template: false }] };
    await deliver({ 'a/x': '1' }, profile);
    const second = await commit({ files: { 'a/x': large, 'a/y': `${large}y` } });
    await sync(profile, second);
    assert.deepEqual(await sandbox.files(), { 'a/x': large, 'a/y': `${large}y` });
    assert.equal(sandbox.fetches, 2, 'nothing was found out by failing');
  });
});

test('a stop interrupts housekeeping at once', { ...slow, timeout: 250_000 }, async (t) => {
  const { url: repo, commit } = await createRepository('stopped');
  const git = new TroubledGit('repack', ['-c', 'alias.wait=!sleep 300', 'wait']);
  const sandbox = await createSandbox(t, { git });
  for (let n = 0; n < 31; n += 1) await sandbox.sync({ repo, commit: await commit({ files: { n: `${n}` } }) });
  const stopping = new AbortController();
  setTimeout(() => stopping.abort(), 200);
  const started = performance.now();
  await assert.rejects(sandbox.clone.tidy(stopping.signal), { name: 'AbortError' });
  assert.ok(performance.now() - started < 30_000);
});
