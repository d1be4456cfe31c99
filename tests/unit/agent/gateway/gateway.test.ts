import assert from 'node:assert/strict';
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
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mapped, type Sandbox } from '../support/sandbox.ts';

type Reload = Intent['reload'];

const none = reloadSettings({ gateway: undefined });
const ignition: Reload = { ...none, preset: 'ignition' };

/** A gateway that runs, and one commit to deliver. */
async function prepare(t: TestContext, reload: Reload, profile: Partial<ResolvedProfile> = {}) {
  const gateway = await startFakeIgnition(t);
  return { gateway, ...(await prepareFor(t, gateway.port, reload, profile)) };
}

async function prepareFor(t: TestContext, port: number, reload: Reload, profile: Partial<ResolvedProfile> = {}) {
  const { repository, sandbox } = await localSandbox(t, 'gateway', { port });
  await writeFile(path.join(sandbox.directory, 'api-key'), 'name:secret\n');
  const commit = await repository.commit({ files: { a: '0' } });
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

async function syncAndReload(sandbox: Sandbox, target: Parameters<Sandbox['sync']>[0]): Promise<boolean> {
  await sandbox.sync(target);
  return await sandbox.reload(target);
}

suite('the reload preset for Ignition', () => {
  const scans = ['POST /data/api/v1/scan/projects', 'POST /data/api/v1/scan/config'];

  test('scans projects, then the configuration, once for each change', slow, async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    assert.equal(await syncAndReload(sandbox, target), true);
    assert.deepEqual(lines(gateway), scans);
    assert.equal(await syncAndReload(sandbox, target), false);
    assert.equal(gateway.calls.length, 2);
    await writeFile(path.join(sandbox.data, 'a'), 'drift');
    assert.equal(await syncAndReload(sandbox, target), true);
    assert.equal(gateway.calls.length, 4);
  });

  test('reads the API key again for each request', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition);
    gateway.key = 'name:other';
    await assert.rejects(syncAndReload(sandbox, target), { name: 'TransientError', message: /401 .*spec\.gateway/ });
    await writeFile(path.join(sandbox.directory, 'api-key'), 'name:other');
    assert.equal(await sandbox.reload(target), true);
    const keys = gateway.calls.map(({ key }) => key);
    assert.deepEqual(keys, ['name:secret', 'name:other', 'name:other']);
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
    assert.deepEqual(lines(gateway), [...scans, ...scans, ...scans]);
    await sandbox.restart();
    assert.equal(await syncAndReload(sandbox, target), false);
  });

  test('defers changes and repairs while a user is editing, as the policy says', async (t) => {
    const { gateway, sandbox, target } = await prepare(t, ignition, { designerSessionPolicy: 'wait' });
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    await assert.rejects(sandbox.sync(target), { name: 'WaitingError', message: /ann on plant/ });
    const failing = { ...target, profile: { designerSessionPolicy: 'fail' as const } };
    await assert.rejects(sandbox.sync(failing), { name: 'TerminalError', code: 'gateway.editors' });
    gateway.editors = Array.from({ length: 9 }, () => ({ user: 'u'.repeat(20_000), project: 'p'.repeat(20_000) }));
    await assert.rejects(sandbox.sync(target), ({ message }: Error) => message.length < 1_000);
    assert.deepEqual(await sandbox.files(), {});
    gateway.editors = [];
    assert.equal(await syncAndReload(sandbox, target), true);
    gateway.editors = [{ user: 'ann', project: 'plant' }];
    assert.deepEqual((await sandbox.sync(target)).plan.changes, [], 'nothing to change, nobody in the way');
    await sandbox.sync({ ...target, commit: target.commit, profile: { designerSessionPolicy: 'proceed' } });
  });

  test('defers a change if a user starts editing while files are being fetched', slow, async (t) => {
    const gateway = await startFakeIgnition(t);
    const { repo, repository, sandbox } = await gitSandbox(t, 'gateway', { port: gateway.port });
    await writeFile(path.join(sandbox.directory, 'api-key'), 'name:secret\n');
    const profile = { ...mapped('config'), designerSessionPolicy: 'wait' as const };
    // Files of that size are requested from the server only if they are mapped.
    const commit = await repository.commit({ files: { 'config/a': 'x'.repeat(100_000) } });
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
    assert.deepEqual(Object.keys(await sandbox.files()), ['config/a']);
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
    const calls = gateway.calls.length;
    assert.equal(await syncAndReload(sandbox, target), false);
    assert.equal(gateway.calls.length, calls);
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
    assert.deepEqual(lines(again), scans);
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
    assert.deepEqual(gateway.calls, []);
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
