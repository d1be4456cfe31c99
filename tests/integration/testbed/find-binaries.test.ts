import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type DownloadSites, downloadBinaries } from '../../../scripts/testbed/download-binaries.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { kubernetesVersion } from '../../../scripts/testbed/versions.ts';
import { startHttpHost } from '../../support/http-host.ts';

const module = path.join(import.meta.dirname, '../../../scripts/testbed/find-binaries.ts');
const arch = process.arch === 'x64' ? 'amd64' : process.arch;

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'find-binaries-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

async function fakeBinary(directory: string, name: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, name);
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

test('the test bed prefers the directory that KUBEBUILDER_ASSETS names', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = await fakeBinary(path.join(directory, 'assets'), 'promtool');
  assert.equal(await find('promtool', { XDG_CACHE_HOME: directory, KUBEBUILDER_ASSETS: path.dirname(file) }), file);
});

test('the test bed reports the remedy if there is neither Go nor a download', async (t) => {
  const directory = await temporaryDirectory(t);
  await assert.rejects(find('promtool', { XDG_CACHE_HOME: directory, PATH: directory }), (error: Error) => {
    assert.match(error.message, /Missing for the test bed: promtool\./);
    assert.match(error.message, /There is no Go on the PATH/);
    assert.match(error.message, /install Go .* KUBEBUILDER_ASSETS/s);
    return true;
  });
});

const names = { envtest: `envtest-v${kubernetesVersion}-${process.platform}-${arch}.tar.gz`, helm: 'helm.tar.gz' };

/** Serves an archive with fake binaries, the index that lists it as the envtest releases do, and a list of checksums. */
async function serveArchive(t: TestContext, otherHash?: string): Promise<DownloadSites> {
  const directory = await temporaryDirectory(t);
  for (const name of ['etcd', 'helm']) await fakeBinary(path.join(directory, 'archive/bin'), name);
  await runCommand('tar', ['-czf', 'archive.tar.gz', 'archive'], { cwd: directory });
  const archive = await readFile(path.join(directory, 'archive.tar.gz'));
  const hashOf = (algorithm: string) => otherHash ?? createHash(algorithm).update(archive).digest('hex');
  const base = await startHttpHost(t, ({ url, headers }, response) => {
    const index = `hash: ${hashOf('sha512')}\n      selfLink: http://${headers.host}/${names.envtest}\n`;
    const checksums = `${'1'.repeat(64)}  other.tar.gz\n${hashOf('sha256').slice(0, 64)}  ${names.helm}\n`;
    const content: Record<string, string> = { '/index': index, '/checksums': checksums };
    response.end(content[url ?? ''] ?? archive);
  });
  const helm = { url: `${base}/${names.helm}`, checksums: `${base}/checksums` };
  return { envtestIndex: `${base}/index`, releases: { helm } };
}

for (const name of ['etcd', 'helm'] as const) {
  test(`the test bed downloads the published archive of ${name} and unpacks the requested binary`, async (t) => {
    const sites = await serveArchive(t);
    const bin = await temporaryDirectory(t);
    assert.deepEqual(await downloadBinaries([name], (file) => path.join(bin, file, file), sites), []);
    assert.equal(await runCommand(path.join(bin, name, name), []), `${name}\n`);
  });

  test(`the test bed rejects an archive of ${name} with an unpublished checksum`, async (t) => {
    const sites = await serveArchive(t, '0'.repeat(128));
    const bin = await temporaryDirectory(t);
    const [problem] = await downloadBinaries([name], (file) => path.join(bin, file, file), sites);
    assert.match(problem ?? '', / instead of 000/);
    await assert.rejects(access(path.join(bin, name, name)), { code: 'ENOENT' });
  });
}

test("the test bed reports binaries that aren't published for this platform", async () => {
  const problems = await downloadBinaries(['helm'], () => '', { envtestIndex: '', releases: {} });
  assert.match(problems.join(), /helm: not published for/);
});
