import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository } from '../../../support/lfs-host.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

const mapping = { source: 'config', destination: 'config', required: true, template: true };
const ALL = [{ ...mapping, source: '.', destination: '.' }];
const profile: Partial<ResolvedProfile> = {
  mappings: [mapping],
  vars: { x: '1' },
  checks: [{ files: '**/*.json', format: 'json' }],
  dryRun: true,
};

/** An agent with a delivered commit, and a later one, with all files in Git LFS. */
async function arrange(t: TestContext) {
  const host = await gitServerFor(t);
  const lfs = createLfsHost(`${host.url}/x.git/info/lfs/objects`);
  host.lfs = lfs.listener;
  const repository = await createLfsRepository(host);
  const sandbox = await createSandbox(t);
  const files = { 'config/a.json': lfs.add('{"x": 0}'), 'config/same.json': lfs.add('{"x": 1}') };
  const first = { repo: repository.url, commit: await repository.commit({ files }), profile };
  await sandbox.sync({ ...first, profile: { ...profile, dryRun: false } });
  const changed = {
    'config/a.json': lfs.add('{"x": {{ .Vars.x }}, "a": 0}'),
    'config/same.json': lfs.add('{"x": {{ .Vars.x }}}'),
    'config/new': lfs.add('new'),
  };
  const next = { ...first, commit: await repository.commit({ files: changed }) };
  const plan = async (target = next) => {
    const { plan } = await sandbox.sync(target);
    return plan.changes.map(({ path, reason }) => `${path} ${reason}`).sort();
  };
  const goOffline = async () => {
    await sandbox.tidy();
    host.fault = { status: 503 };
  };
  return { host, lfs, sandbox, next, plan, goOffline };
}

const CHANGES = ['config/a.json ContentChanged', 'config/new New'];

suite('a repeated dry run', () => {
  test('needs no server, even though its content from Git LFS is no longer on disk', slow, async (t) => {
    const { host, lfs, sandbox, plan, goOffline } = await arrange(t);
    assert.deepEqual(await plan(), CHANGES);
    await goOffline();
    const before = [host.requests.length, lfs.requests.length];
    assert.deepEqual(await plan(), CHANGES);
    await sandbox.release();
    assert.deepEqual(await plan(), CHANGES);
    assert.deepEqual([host.requests.length, lfs.requests.length], before);
  });

  test('compares with the files that are on the volume by then', slow, async (t) => {
    const { sandbox, plan, goOffline } = await arrange(t);
    await plan();
    await goOffline();
    const at = (name: string) => path.join(sandbox.data, 'config', name);
    await rm(at('a.json'));
    await writeFile(at('a.json'), '{"x": 1, "a": 0}');
    await mkdir(at('other'));
    await writeFile(at('new'), 'old');
    assert.deepEqual(await plan(), ['config/new TakenOver']);
  });

  test('renders again with other values or mappings, but not after a query about files', slow, async (t) => {
    const { sandbox, next, plan, goOffline } = await arrange(t);
    await plan();
    const all = ['config/a.json ContentChanged', 'config/new New', 'config/same.json ContentChanged'];
    assert.deepEqual(await plan({ ...next, profile: { ...profile, vars: { x: '2' } } }), all);
    const plain = { ...next, profile: { ...profile, mappings: [{ ...mapping, template: false }], checks: [] } };
    assert.deepEqual(await plan(plain), all);
    await sandbox.inspect({ kind: 'diff', ref: 'main' }, next);
    await goOffline();
    assert.deepEqual(await plan(plain), all);
    await assert.rejects(plan(), { code: 'lfs.unreachable' });
  });

  test('checks the files again that failed', async (t) => {
    const { commit, sync } = await localSandbox(t, 'repeated', {});
    await commit({ files: { 'a.json': '{' } });
    for (let run = 0; run < 2; run += 1)
      await assert.rejects(sync({ ...profile, mappings: ALL }), { code: 'sync.CheckFailed' });
  });
});
