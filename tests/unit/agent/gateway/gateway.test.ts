import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { type Intent, reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { type FakeIgnition, startFakeIgnition } from '../../../support/fake-ignition.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { until } from '../../../support/until.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mapped, type Sandbox } from '../support/sandbox.ts';

type Reload = Intent['reload'];

const none = reloadSettings({ gateway: undefined });
const ignition: Reload = { ...none, preset: 'ignition' };

/** A gateway that runs, and one commit to deliver. */
async function prepare(t: TestContext, reload: Reload, profile: Partial<ResolvedProfile> = {}, files = {}) {
  const gateway = await startFakeIgnition(t);
  const prepared = await prepareFor(t, gateway.port, reload, profile, files);
  gateway.data = prepared.sandbox.data;
  return { gateway, ...prepared };
}

async function prepareFor(
  t: TestContext,
  port: number,
  reload: Reload,
  profile: Partial<ResolvedProfile> = {},
  files: Record<string, string> = {},
) {
  const { repository, sandbox } = await localSandbox(t, 'gateway', { port });
  await writeFile(path.join(sandbox.directory, 'api-key'), 'name:secret\n');
  const commit = await repository.commit({ files: { a: '0', ...files } });
  return { sandbox, repository, target: { repo: repository.url, commit, reload, profile } };
}

async function writeHeader({ directory }: Sandbox, text: string): Promise<void> {
  await mkdir(path.join(directory, 'headers/gateway-key'), { recursive: true });
  await writeFile(path.join(directory, 'headers/gateway-key/token'), text);
}

/** A gateway that records each request, with its headers except for the usual ones of every client. */
async function startRecorder(t: TestContext) {
  const requests: { line: string; headers: Record<string, unknown>; body: string }[] = [];
  const url = await startHttpHost(t, async (request, response) => {
    const { host: _, accept: _a, connection: _c, 'content-length': _l, ...headers } = request.headers;
    requests.push({ line: `${request.method} ${request.url}`, headers, body: await text(request) });
    response.end();
  });
  return { requests, port: Number(new URL(url).port) };
}

const lines = ({ calls }: FakeIgnition) => calls.map(({ line }) => line);
/** The requests that change something on the gateway, except for locks. */
const requested = (gateway: FakeIgnition) =>
  lines(gateway).filter((line) => !line.startsWith('GET /data/api/') && !line.includes('/scan-lock/'));

async function syncAndReload(sandbox: Sandbox, target: Parameters<Sandbox['sync']>[0]): Promise<boolean> {
  await sandbox.sync(target);
  return await sandbox.reload(target);
}

suite('the reload preset for Ignition', () => {
  const scans = ['POST /data/api/v1/scan/projects', 'POST /data/api/v1/scan/config'];

  test('scans projects, then the configuration, once for each change', slow, async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    assert.equal(await syncAndReload(sandbox, target), true);
    assert.deepEqual(requested(gateway), scans);
    assert.equal(await syncAndReload(sandbox, target), false);
    assert.equal(requested(gateway).length, 2);
    await writeFile(path.join(sandbox.data, 'a'), 'drift');
    assert.equal(await syncAndReload(sandbox, target), true);
    assert.equal(requested(gateway).length, 4);
  });

  test('reads the API key again for each request', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    gateway.key = 'name:other';
    await assert.rejects(syncAndReload(sandbox, target), { name: 'TransientError', message: /401 .*spec\.gateway/ });
    await writeFile(path.join(sandbox.directory, 'api-key'), 'name:other');
    gateway.calls.length = 0;
    assert.equal(await sandbox.reload(target), true);
    assert.deepEqual(new Set(gateway.calls.map(({ key }) => key)), new Set(['name:other']));
  });

  test('starts over until every request succeeds, even after a restart of the agent', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    gateway.faults['/data/api/v1/scan/config'] = { status: 500 };
    await assert.rejects(syncAndReload(sandbox, target), { code: 'gateway.refused' });
    await sandbox.restart();
    await assert.rejects(syncAndReload(sandbox, target), { code: 'gateway.refused' });
    gateway.faults = {};
    await sandbox.restart();
    assert.equal(await syncAndReload(sandbox, target), true);
    assert.deepEqual(requested(gateway), [...scans, ...scans, ...scans]);
    await sandbox.restart();
    assert.equal(await syncAndReload(sandbox, target), false);
  });

  const plant = { 'projects/plant/project.json': '{}', 'config/a.json': '{}' };

  test('defers changes of a project while a user is editing it, as the policy says', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition, { designerSessionPolicy: 'wait' }, plant);
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    await assert.rejects(sandbox.sync(target), { name: 'WaitingError', message: /ann on plant/ });
    const failing = { ...target, profile: { designerSessionPolicy: 'fail' as const } };
    await assert.rejects(sandbox.sync(failing), { name: 'TerminalError', code: 'gateway.editors' });
    gateway.editors = [{ user: 'ann', project: undefined }];
    await assert.rejects(sandbox.sync(target), { code: 'gateway.editors' }, 'a session of any project');
    gateway.editors = Array.from({ length: 9 }, () => ({ user: 'u'.repeat(20_000), project: undefined }));
    await assert.rejects(sandbox.sync(target), ({ message }: Error) => message.length < 1_000);
    assert.deepEqual(await sandbox.files(), {});
    gateway.editors = [{ user: 'ben', project: 'other' }];
    assert.equal(await syncAndReload(sandbox, target), true);
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    assert.deepEqual((await sandbox.sync(target)).plan.changes, [], 'nothing to change, nobody in the way');
    await sandbox.sync({ ...target, commit: target.commit, profile: { designerSessionPolicy: 'proceed' } });
  });

  test('delivers no file of a project to a user who edits it, but the configuration', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(
      t,
      ignition,
      { designerSessionPolicy: 'wait' },
      plant,
    );
    await sandbox.sync(target);
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    const commit = await repository.commit({ files: { 'config/a.json': '[]' } });
    await sandbox.sync({ ...target, commit });
    assert.equal((await sandbox.files())['config/a.json'], '[]');
  });

  test('reports once if users edit for longer than the limit, and still changes nothing', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(
      t,
      ignition,
      { designerSessionPolicy: 'wait' },
      plant,
    );
    const now = performance.now.bind(performance);
    let laterMs = 0;
    t.mock.method(performance, 'now', () => now() + laterMs);
    const errors: { code?: string; message: string }[] = [];
    const tryAfter = async (ms: number, commit = target.commit) => {
      laterMs = ms;
      await sandbox.sync({ ...target, commit }).catch((error) => errors.push(error));
    };
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    for (const ms of [0, 310_000, 400_000]) await tryAfter(ms);
    assert.deepEqual(await sandbox.files(), {});
    await tryAfter(500_000, await repository.commit({ files: { 'projects/plant/project.json': '[]' } }));
    const codes = errors.map(({ code }) => code);
    assert.deepEqual(codes, ['gateway.editors', 'gateway.editorsStay', 'gateway.editorsStay', 'gateway.editors']);
    assert.equal(errors[1]?.message, errors[2]?.message);
  });

  test('defers a change of the way of publishing a project that a user edits', async (t) => {
    const wait = { designerSessionPolicy: 'wait' as const };
    const { gateway, sandbox, target } = await prepare(t, ignition, { ...mapped('projects/plant'), ...wait }, plant);
    await sandbox.sync(target);
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    const [mapping] = mapped('projects/plant').mappings;
    const profile = { ...wait, mappings: [{ ...mapping, publish: 'atomic' }] } as typeof target.profile;
    await assert.rejects(sandbox.sync({ ...target, profile }), { code: 'gateway.editors' });
  });

  test('defers a change if a user starts editing while files are being fetched', slow, async (t) => {
    const gateway = await startFakeIgnition(t);
    const { repo, repository, sandbox } = await gitSandbox(t, 'gateway', { port: gateway.port });
    await writeFile(path.join(sandbox.directory, 'api-key'), 'name:secret\n');
    const profile = { ...mapped('projects'), designerSessionPolicy: 'wait' as const };
    // Files of that size are requested from the server only if they are mapped.
    const commit = await repository.commit({ files: { 'projects/plant/a': 'x'.repeat(100_000) } });
    const target = { repo, commit, reload: ignition, profile };
    const fetchBlobs = sandbox.clone.fetchBlobs.bind(sandbox.clone);
    t.mock.method(sandbox.clone, 'fetchBlobs', (...given: Parameters<typeof fetchBlobs>) => {
      gateway.editors = [{ user: 'ann', project: 'plant' }];
      return fetchBlobs(...given);
    });
    await assert.rejects(sandbox.sync(target), { code: 'gateway.editors' });
    assert.deepEqual(await sandbox.files(), {});
    gateway.editors = [];
    await sandbox.sync(target);
    assert.deepEqual(Object.keys(await sandbox.files()), ['projects/plant/a']);
  });

  test('scans nothing if a change was abandoned before the first file moved', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition);
    assert.equal(await syncAndReload(sandbox, target), true);
    const commit = await repository.commit({ files: { a: 'x'.repeat(100_000) } });
    const mocked = t.mock.method(sandbox.clone, 'blobs', () => {
      throw new Error('no blob can be read');
    });
    await assert.rejects(sandbox.sync({ ...target, commit }), { message: 'no blob can be read' });
    mocked.mock.restore();
    const calls = requested(gateway).length;
    assert.equal(await syncAndReload(sandbox, target), false);
    assert.equal(requested(gateway).length, calls);
  });

  test("assumes no editing in a gateway that is down, but not in one that doesn't answer", async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition, { designerSessionPolicy: 'wait' });
    gateway.faults['/data/api/v1/designers'] = { status: 503 };
    await assert.rejects(sandbox.sync(target), { code: 'gateway.refused' });
    await gateway.stop();
    await sandbox.sync(target);
    assert.deepEqual(Object.keys(await sandbox.files()), ['a']);
    await assert.rejects(sandbox.reload(target), { name: 'WaitingError', code: 'gateway.down' });
    const again = await startFakeIgnition(t, gateway.port);
    assert.equal(await sandbox.reload(target), true);
    assert.deepEqual(requested(again), scans);
  });
});

suite('an Ignition gateway', () => {
  const projects = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [`projects/${name}/project.json`, '{}']));

  test('reads no files from the first change to the scans that follow', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition, {}, projects('one'));
    await syncAndReload(sandbox, target);
    const seen: string[] = [];
    gateway.onCall = (line) => {
      if (line.startsWith('POST')) seen.push(`${line.split('/').slice(-2).join('/')}: ${readFileSync(a, 'utf8')}`);
    };
    const a = path.join(sandbox.data, 'a');
    const commit = await repository.commit({ files: { a: '1' } });
    await sandbox.sync({ ...target, commit });
    assert.deepEqual(Object.keys(gateway.locks).sort(), ['config', 'projects']);
    await sandbox.reload({ ...target, commit });
    assert.deepEqual(seen.slice(0, 2).sort(), ['scan-lock/config: 0', 'scan-lock/projects: 0']);
    assert.deepEqual(seen.slice(2), ['scan/projects: 1', 'scan/config: 1']);
    assert.deepEqual(gateway.locks, {});
  });

  test('reads files again after a change that was undone', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition, {}, projects('one'));
    await syncAndReload(sandbox, target);
    gateway.calls.length = 0;
    const commit = await repository.commit({ files: { a: '1', b: '1' } });
    gateway.onCall = (line) => {
      // Something of the gateway appears where a new file belongs.
      if (line.includes('scan-lock/config')) writeFileSync(path.join(sandbox.data, 'b'), 'of the gateway');
    };
    await assert.rejects(sandbox.sync({ ...target, commit }));
    assert.equal((await sandbox.files()).a, '0');
    assert.deepEqual(requested(gateway), ['POST /data/api/v1/scan/projects', 'POST /data/api/v1/scan/config']);
    assert.deepEqual(gateway.locks, {});
  });

  test('does not read the files of a withdrawn release because the next sync fails before it changes any', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition, {}, projects('one'));
    await sandbox.sync(target);
    const commit = await repository.commit({ files: { a: 'x'.repeat(100_000) } });
    t.mock.method(sandbox.clone, 'blobs', () => {
      throw new Error('no blob can be read');
    });
    await assert.rejects(sandbox.sync({ ...target, commit }), { message: 'no blob can be read' });
    assert.deepEqual(requested(gateway), []);
  });

  test('without locks, or which others hold, gets the files, and a note says so', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition, {}, projects('one'));
    gateway.faults['/data/api/v1/scan-lock/projects'] = { status: 404 };
    await syncAndReload(sandbox, target);
    assert.match(sandbox.notes(target).join(), /scan-lock\/projects/);
    gateway.faults = {};
    gateway.locks = { config: performance.now() + 60_000 };
    const commit = await repository.commit({ files: { a: '1' } });
    await syncAndReload(sandbox, { ...target, commit });
    assert.match(sandbox.notes(target).join(), /409 .*scan-lock\/config/);
    assert.equal((await sandbox.files()).a, '1');
  });

  for (const [what, hinder] of [
    ['a change that it was not notified of', async () => {}],
    ['a restart of the agent', async ({ sandbox }) => await sandbox.restart()],
    [
      'a scan that it refused',
      async ({ gateway, sandbox, target }) => {
        gateway.faults['/data/api/v1/scan/projects'] = { status: 500 };
        await assert.rejects(sandbox.reload(target));
        gateway.faults = {};
      },
    ],
  ] as [string, (prepared: Awaited<ReturnType<typeof prepare>>) => Promise<void>][]) {
    test(`that is still locked after ${what} is locked by the agent`, async (t) => {
      const prepared = await prepare(t, ignition, {}, projects('one'));
      const { sandbox, repository, target } = prepared;
      await sandbox.sync(target);
      await hinder(prepared);
      const commit = await repository.commit({ files: { a: '1' } });
      await syncAndReload(sandbox, { ...target, commit });
      assert.deepEqual(sandbox.notes(target), ['the gateway has all 1 delivered projects']);
    });
  }

  test('is not left locked by a sync that ended before it changed anything', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    const ending = new AbortController();
    gateway.faults['/data/api/v1/scan-lock/projects'] = 'hang';
    gateway.onCall = (line) => {
      if (line.includes('scan-lock/config')) setTimeout(() => ending.abort(new Error('superseded')), 100);
    };
    await assert.rejects(sandbox.sync(target, ending.signal), /superseded/);
    await until(() => gateway.locks.config === undefined, { describe: 'a scan' });
  });

  test('keeps the note about its locks while a later request is retried, and as long as the preset', async (t) => {
    const request = { method: 'POST' as const, path: '/own', timeoutMs: 1_000 };
    const { gateway, sandbox, target } = await prepare(t, { ...ignition, requests: [request] });
    gateway.faults = { '/data/api/v1/scan-lock/config': { status: 404 }, '/own': { status: 500 } };
    await assert.rejects(syncAndReload(sandbox, target), { code: 'gateway.refused' });
    delete gateway.faults['/own'];
    await sandbox.reload(target);
    assert.match(sandbox.notes(target).join(), /scan-lock\/config/);
    assert.deepEqual(sandbox.notes({ ...target, reload: none }), []);
  });

  test('says which delivered projects it has once it has scanned them, and whether it must restart', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition, {}, projects('one', 'two'));
    gateway.lagMs = 300;
    await syncAndReload(sandbox, target);
    assert.match(sandbox.notes(target).join(), /all 2 delivered projects/);
    gateway.pendingRestarts = ['Module Enabled: com.example'];
    const commit = await repository.commit({ files: { a: '1' } });
    await syncAndReload(sandbox, { ...target, commit });
    assert.match(sandbox.notes(target).join(), /Module Enabled/);
  });

  test('says which delivered projects it does not list', slow, async (t) => {
    const files = { ...projects('one'), 'projects/bad/project.json': '{', 'projects/none/other.json': '{}' };
    const { sandbox, target } = await prepare(t, ignition, {}, files);
    await syncAndReload(sandbox, target);
    assert.match(sandbox.notes(target).join(), /1 of 2 delivered projects \(bad\)/);
  });

  test('that hangs delays the end of a notification by little more than ten seconds', slow, async (t) => {
    const { gateway, sandbox, target } = await prepare(t, { ...ignition, timeoutMs: 60_000 }, {}, projects('one'));
    await sandbox.sync(target);
    const silent = ['projects/list?limit=-1', 'restart-tasks/pending', 'redundancy'];
    gateway.faults = Object.fromEntries(silent.map((path) => [`/data/api/v1/${path}`, 'hang' as const]));
    const begun = performance.now();
    await sandbox.reload(target);
    assert.ok(performance.now() - begun < 30_000);
  });

  test('of an earlier version, which has no lists and no status of scans, gets the files', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition, {}, projects('one'));
    for (const resource of ['projects/list?limit=-1', 'scan-lock/config', 'redundancy', 'restart-tasks/pending'])
      gateway.faults[`/data/api/v1/${resource}`] = { status: 404 };
    assert.equal(await syncAndReload(sandbox, target), true);
  });

  test('that is the backup of a pair gets files only after a failover', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    gateway.role = 'Backup';
    for (const level of ['Cold', 'Warm'] as const) {
      gateway.activityLevel = level;
      await assert.rejects(sandbox.sync(target), { name: 'WaitingError', reason: 'Standby' });
    }
    assert.deepEqual(await sandbox.files(), {});
    await sandbox.sync({ ...target, profile: { dryRun: true } });
    gateway.activityLevel = 'Active';
    assert.equal(await syncAndReload(sandbox, target), true);
    gateway.role = 'Master';
    gateway.activityLevel = 'Cold';
    await sandbox.sync(target);
  });

  test('that was the backup remains it while it is silent, and a note says if its role is unknown', async (t) => {
    const { gateway, sandbox, repository, target } = await prepare(t, ignition);
    await sandbox.sync(target);
    gateway.faults['/data/api/v1/redundancy'] = { status: 403 };
    await sandbox.reload(target);
    assert.match(sandbox.notes(target).join(), /role/);
    gateway.faults = {};
    Object.assign(gateway, { role: 'Backup', activityLevel: 'Warm' });
    const next = { ...target, commit: await repository.commit({ files: { a: '1' } }) };
    for (const fault of [undefined, { status: 503 }, 'hang'] as const) {
      if (fault) gateway.faults['/data/api/v1/redundancy'] = fault;
      const reload = { ...ignition, timeoutMs: 200 };
      await assert.rejects(sandbox.sync({ ...next, reload }), { reason: 'Standby' });
    }
    assert.equal((await sandbox.files()).a, '0');
  });

  test('that turns out to be the backup when it has started is not notified, so it is not verified', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    await sandbox.sync(target);
    gateway.role = 'Backup';
    gateway.activityLevel = 'Cold';
    await assert.rejects(sandbox.reload(target), { reason: 'Standby' });
    assert.deepEqual(requested(gateway), []);
  });
});

suite('reload requests', () => {
  const request = (fields: object) =>
    ({ method: 'POST', path: '/reload', timeoutMs: 10_000, ...fields }) as Reload['requests'][number];

  test('are sent in order, with headers from Secrets, once the gateway is ready', async (t) => {
    const secretRef = { name: 'gateway-key', key: 'token' };
    const reload: Reload = {
      ...none,
      readyPath: '/ready',
      requests: [
        request({ headersFrom: [{ name: 'X-Own', secretRef }] }),
        request({ method: 'GET', path: '/done?x=1' }),
      ],
    };
    const { gateway, sandbox, target } = await prepare(t, reload);
    gateway.faults['/ready'] = { status: 503 };
    await assert.rejects(syncAndReload(sandbox, target), { name: 'WaitingError', code: 'gateway.notReady' });
    gateway.faults = {};
    await assert.rejects(sandbox.reload(target), { code: 'gateway.credentials', message: /gateway-key .*\(ENOENT\)/ });
    await writeHeader(sandbox, 'abc\n');
    gateway.calls.length = 0;
    assert.equal(await sandbox.reload(target), true);
    assert.deepEqual(lines(gateway), ['GET /ready', 'POST /reload', 'GET /done?x=1']);
    const headers = gateway.calls.map(({ header }) => header);
    assert.deepEqual(headers, [undefined, 'abc', undefined]);
  });

  test('carry a rendered body, plain headers, and the commit and the ref of the files', async (t) => {
    const { requests, port } = await startRecorder(t);
    const secretRef = { name: 'gateway-key', key: 'token' };
    const full = request({
      body: '{"name": "{{ .GatewayName }}", "site": "{{ .Vars.site }}", "at": "{{ .Commit }}"}',
      headers: [
        { name: 'Content-Type', value: 'application/json' },
        { name: 'x-sync-commit', value: 'forged' },
        { name: 'X-Both', value: 'plain' },
      ],
      headersFrom: [{ name: 'X-Both', secretRef }],
    });
    const reload = { ...none, requests: [full, request({ path: '/plain' })] };
    const { sandbox, target } = await prepareFor(t, port, reload, { vars: { site: 'oslo' } });
    const { commit } = target;
    await writeHeader(sandbox, 'secret');
    assert.equal(await syncAndReload(sandbox, { ...target, ref: 'refs/heads/größe%' }), true);
    const ref = 'refs/heads/gr%C3%B6%C3%9Fe%';
    assert.deepEqual(requests, [
      {
        line: 'POST /reload',
        headers: { 'content-type': 'application/json', 'x-both': 'secret', 'x-sync-commit': commit, 'x-sync-ref': ref },
        body: `{"name": "edge", "site": "oslo", "at": "${commit}"}`,
      },
      { line: 'POST /plain', headers: { 'x-sync-commit': commit, 'x-sync-ref': ref }, body: '' },
    ]);
  });

  test('are not sent if a value of the body is missing, or the body would be too long', async (t) => {
    const { requests, port } = await startRecorder(t);
    const { sandbox, target } = await prepareFor(t, port, none);
    const sending = (body: string) => ({ ...target, reload: { ...none, requests: [request({ body })] } });
    await assert.rejects(syncAndReload(sandbox, sending('a\n{{ .Vars.site }}')), {
      name: 'TerminalError',
      message: /POST \/reload .*: line 2: \{\{ \.Vars\.site \}\} /,
    });
    const long = { vars: { site: 'x'.repeat(512) } };
    const many = { ...sending('{{ .Vars.site }}'.repeat(512)), profile: long };
    await assert.rejects(sandbox.reload(many), { code: 'gateway.body' });
    assert.deepEqual(requests, []);
  });

  test('follow no redirect, and can expect any status', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, { ...none, requests: [request({})] });
    gateway.faults['/reload'] = { status: 302, location: '/elsewhere' };
    await assert.rejects(syncAndReload(sandbox, target), { code: 'gateway.refused', message: /\b302\b/ });
    assert.deepEqual(lines(gateway), ['POST /reload']);
    const expecting = { ...target, reload: { ...none, requests: [request({ expectStatus: 302 })] } };
    assert.equal(await sandbox.reload(expecting), true);
  });

  test('read no file outside their directory', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, none);
    await sandbox.sync({ ...target, reload: ignition });
    for (const [name, key] of Object.entries({ '../../etc': 'passwd', a: '..', b: '../x' })) {
      const requests = [request({ headersFrom: [{ name: 'X-Own', secretRef: { name, key } }] })];
      const reloading = sandbox.reload({ ...target, reload: { ...none, requests } });
      await assert.rejects(reloading, { name: 'TerminalError', code: 'gateway.headers' });
    }
    assert.deepEqual(requested(gateway), []);
  });

  test('are abandoned when their own timeout expires', { timeout: 60_000 }, async (t) => {
    const reload = { ...none, timeoutMs: 60_000, requests: [request({ timeoutMs: 150 })] };
    const { gateway, sandbox, target } = await prepare(t, reload);
    gateway.faults['/reload'] = 'hang';
    await assert.rejects(syncAndReload(sandbox, target), { name: 'WaitingError', code: 'gateway.silent' });
    const scanning = { ...target, reload: { ...ignition, timeoutMs: 150 } };
    gateway.faults['/data/api/v1/scan/projects'] = 'hang';
    await assert.rejects(sandbox.reload(scanning), { code: 'gateway.silent', message: /within 150ms/ });
  });

  test('stop with the agent, and are sent again by the next one', async (t) => {
    const reload = { ...none, readyPath: '/ready', requests: [request({})] };
    const { gateway, sandbox, target } = await prepare(t, reload);
    await sandbox.sync(target);
    for (const path of ['/ready', '/reload']) {
      gateway.faults = { [path]: 'hang' };
      const ending = new AbortController();
      const end = new Error('it ends');
      setTimeout(() => ending.abort(end), 100);
      const isEnd = (error: Error) => error === end || error.cause === end;
      await assert.rejects(sandbox.reload(target, ending.signal), isEnd);
    }
    gateway.faults = {};
    await sandbox.restart();
    await sandbox.sync(target);
    assert.equal(await sandbox.reload(target), true);
  });

  test('come after the touch file, which is touched once for each change', async (t) => {
    const reload = { ...none, touchFile: 'synced', requests: [request({})] };
    const { gateway, sandbox, repository, target } = await prepare(t, reload);
    const synced = path.join(sandbox.data, 'synced');
    gateway.faults['/reload'] = { status: 500 };
    await assert.rejects(syncAndReload(sandbox, target), { code: 'gateway.refused' });
    assert.ok((await readFile(synced, 'utf8')).startsWith(`${target.commit} `));
    gateway.faults = {};
    await sandbox.reload(target);
    const first = await readFile(synced, 'utf8');
    assert.equal(await syncAndReload(sandbox, target), false);
    assert.equal(await readFile(synced, 'utf8'), first);
    const commit = await repository.commit({ files: { a: 'changed' } });
    assert.equal(await syncAndReload(sandbox, { ...target, commit }), true);
    assert.ok((await readFile(synced, 'utf8')).startsWith(`${commit} `));
  });

  test('reject a mapped file as the touch file', async (t) => {
    const { sandbox, target } = await prepare(t, none);
    await sandbox.sync(target);
    const touching = { ...target, reload: { ...none, touchFile: 'a' } };
    await assert.rejects(sandbox.sync(touching), { code: 'sync.ProfileInvalid', message: /^a .*touchFile/ });
  });

  test('leave no pending reload if a change has no receiver', async (t) => {
    const { sandbox, target } = await prepareFor(t, await freePort(), none);
    assert.equal(await syncAndReload(sandbox, target), false);
  });
});
