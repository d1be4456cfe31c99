import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { withCacheLock } from '../../../scripts/testbed/cache-lock.ts';
import { downloadBinaries } from '../../../scripts/testbed/download-binaries.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { kubernetesVersion } from '../../../scripts/testbed/versions.ts';

const module = path.join(import.meta.dirname, '../../../scripts/testbed/find-binaries.ts');
const arch = process.arch === 'x64' ? 'amd64' : process.arch;

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'find-binaries-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

async function fakeBinary(folder: string, name: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, name);
  await writeFile(file, `#!/bin/sh\necho ${name}\n`);
  await chmod(file, 0o755);
  return file;
}

const find = (name: string, env: NodeJS.ProcessEnv) =>
  runCommand(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `const { findBinaries } = await import(${JSON.stringify(module)});
       process.stdout.write((await findBinaries(${JSON.stringify(name)}))[${JSON.stringify(name)}]);`,
    ],
    { env },
  );

test('prefers the folder that KUBEBUILDER_ASSETS names', async (t) => {
  const folder = await temporaryFolder(t);
  const file = await fakeBinary(path.join(folder, 'assets'), 'promtool');
  assert.equal(await find('promtool', { XDG_CACHE_HOME: folder, KUBEBUILDER_ASSETS: path.dirname(file) }), file);
});

test('says what is missing and what to do where there is neither Go nor a download', async (t) => {
  const folder = await temporaryFolder(t);
  await assert.rejects(find('promtool', { XDG_CACHE_HOME: folder, PATH: folder }), (error: Error) => {
    assert.match(error.message, /Missing for the test bed: promtool\./);
    assert.match(error.message, /There is no Go on the PATH/);
    assert.match(error.message, /install Go .* KUBEBUILDER_ASSETS/s);
    return true;
  });
});

/** Serves an archive with fake binaries and the index that lists it, as the envtest releases do. */
async function serveArchive(t: TestContext, sha512?: string): Promise<string> {
  const folder = await temporaryFolder(t);
  await fakeBinary(path.join(folder, 'controller-tools/envtest'), 'etcd');
  await runCommand('tar', ['-czf', 'archive.tar.gz', 'controller-tools'], { cwd: folder });
  const archive = await readFile(path.join(folder, 'archive.tar.gz'));
  const name = `envtest-v${kubernetesVersion}-${process.platform}-${arch}.tar.gz`;
  const hash = sha512 ?? createHash('sha512').update(archive).digest('hex');
  const server = createServer((request, response) => {
    const { host } = request.headers;
    const index = `releases:\n  x:\n    ${name}:\n      hash: ${hash}\n      selfLink: http://${host}/${name}\n`;
    response.end(request.url === '/index' ? index : archive);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('downloads the published archive and unpacks what was asked for', async (t) => {
  const [url, bin] = [await serveArchive(t), await temporaryFolder(t)];
  await downloadBinaries(['etcd'], bin, { envtestIndex: `${url}/index`, kubernetes: url });
  assert.equal(await runCommand(path.join(bin, 'etcd'), []), 'etcd\n');
});

test('refuses an archive with another checksum than the published one', async (t) => {
  const [url, bin] = [await serveArchive(t, '0'.repeat(128)), await temporaryFolder(t)];
  const sites = { envtestIndex: `${url}/index`, kubernetes: url };
  await assert.rejects(downloadBinaries(['etcd'], bin, sites), /published is 000/);
  await assert.rejects(access(path.join(bin, 'etcd')), { code: 'ENOENT' });
});

test('lets one process at a time fill the cache, and does not wait for a dead one', async (t) => {
  const file = path.join(await temporaryFolder(t), 'lock');
  await writeFile(file, `${hostname()} ${await deadProcessId()}`);
  const events: string[] = [];
  const work = (name: string) => async () => {
    events.push(`${name} starts`);
    await sleep(100);
    events.push(`${name} ends`);
  };
  await withCacheLock(file, work('first'));
  await Promise.all([withCacheLock(file, work('a')), withCacheLock(file, work('b'))]);
  const [one, other] = events[2] === 'a starts' ? ['a', 'b'] : ['b', 'a'];
  const order = [one, one, other, other].map((name, i) => `${name} ${i % 2 ? 'ends' : 'starts'}`);
  assert.deepEqual(events, ['first starts', 'first ends', ...order]);
});

async function deadProcessId(): Promise<string> {
  return (await runCommand('/bin/sh', ['-c', 'echo $$'])).trim();
}
