import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, constants, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import manifest from '../../../package.json' with { type: 'json' };
import { archiveName, krewManifest } from '../../../scripts/krew-manifest.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { connectCluster } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const root = path.join(import.meta.dirname, '../../..');

/** Requirements of Krew for a manifest (internal/index/validation in its sources) and of its index. */
const pluginSchema = v.strictObject({
  apiVersion: v.literal('krew.googlecontainertools.github.com/v1alpha2'),
  kind: v.literal('Plugin'),
  metadata: v.strictObject({ name: v.literal('stoker') }),
  spec: v.strictObject({
    version: v.pipe(v.string(), v.regex(/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/)),
    homepage: v.pipe(v.string(), v.url()),
    shortDescription: v.pipe(v.string(), v.minLength(1), v.maxLength(50), v.regex(/[^.]$/)),
    description: v.pipe(v.string(), v.minLength(1)),
    platforms: v.pipe(
      v.array(
        v.strictObject({
          selector: v.strictObject({
            matchLabels: v.strictObject({ os: v.picklist(['linux', 'darwin']), arch: v.picklist(['amd64', 'arm64']) }),
          }),
          uri: v.pipe(v.string(), v.regex(/^https:\/\/.*\.tar\.gz$/)),
          sha256: v.pipe(v.string(), v.regex(/^[a-f0-9]{64}$/)),
          files: v.pipe(v.array(v.strictObject({ from: v.string(), to: v.literal('.') })), v.minLength(1)),
          bin: v.literal('kubectl-stoker'),
        }),
      ),
      v.minLength(1),
    ),
  }),
});

/** Simulates `kubectl krew install --manifest=`: checks the archive, unpacks the files, and runs the program. */
async function installAsKrew(t: TestContext, archive: string, text: string): Promise<void> {
  const { spec } = v.parse(pluginSchema, parse(text));
  assert.equal(spec.version, `v${manifest.version}`);
  const [platform] = spec.platforms;
  assert.ok(platform);
  assert.equal(path.basename(platform.uri), path.basename(archive));
  assert.ok(platform.uri.includes(`/download/v${manifest.version}/`));
  const content = await readFile(archive);
  assert.equal(platform.sha256, createHash('sha256').update(content).digest('hex'));
  const directory = await temporaryDirectory(t, 'krew-');
  await runCommand('tar', ['-xzf', archive, '-C', directory, ...platform.files.map(({ from }) => from)]);
  const version = await runCommand(path.join(directory, platform.bin), ['--version'], { env: { PATH: '/nowhere' } });
  assert.equal(version, `${manifest.version}\n`);
  // Krew links the program from another directory.
  const link = path.join(await temporaryDirectory(t, 'krew-bin-'), 'kubectl-stoker');
  await symlink(path.join(directory, platform.bin), link);
  const script = await runCommand(link, ['completion', 'bash'], { env: { PATH: '/nowhere' } });
  const completion = path.join(directory, 'completion');
  assert.ok(script.includes(`PATH="$PATH":'${completion}'`), script);
  await access(path.join(completion, 'kubectl_complete-stoker'), constants.X_OK);
}

suite('a release of kubectl stoker', () => {
  test('contains a package with the program, and a file that needs no Node', slow, async (t) => {
    // The archive is temporary, and compressing it well would take seven seconds.
    const env = { ...process.env, GZIP: '-1' };
    const output = await runCommand(process.execPath, [path.join(root, 'scripts/package-cli.ts')], { env });
    const [directory = '', executable = '', archive = '', krew = ''] = output.trim().split('\n');

    const published = JSON.parse(await readFile(path.join(root, directory, 'package.json'), 'utf8'));
    assert.equal(published.version, manifest.version);
    assert.equal(published.dependencies, undefined);
    for (const file of published.files) await access(path.join(root, directory, file), constants.R_OK);
    for (const name of ['kubectl-stoker', 'kubectl_complete-stoker'])
      await access(path.join(root, directory, published.bin[name]), constants.X_OK);
    const licences = await readFile(path.join(root, directory, 'kubectl-stoker.mjs.LEGAL.txt'), 'utf8');
    assert.match(licences, /^diff 9\S+ \(BSD-3-Clause\)$.*?Redistributions in binary form must reproduce/ms);
    for (const name of ['@kubernetes/client-node', 'h3', 'listhen', 'valibot', 'yaml'])
      assert.match(licences, new RegExp(`^${name} \\d\\S+ \\(.+\\)\\n\\n.*[Cc]opyright`, 'ms'), name);

    const { kubeconfig } = await connectCluster();
    const plugin = path.join(root, executable);
    const nowhere = { env: { PATH: '/nowhere', HOME: '/nowhere', KUBECONFIG: kubeconfig } };
    assert.equal(await runCommand(plugin, ['--version'], nowhere), `${manifest.version}\n`);
    const failure = await runCommand(plugin, ['status', '-n', 'default'], nowhere).catch((error) => error);
    assert.equal(failure.status, 1);
    assert.match(failure.stderr, / GatewaySync .* namespace default\b/);

    const ui = spawn(plugin, ['ui', '--no-open', '-n', 'default'], {
      ...nowhere,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => ui.kill('SIGKILL'));
    const [address] = (await once(ui.stdout, 'data')) as [Buffer];
    const entered = await fetch(String(address).trim(), { redirect: 'manual' });
    const headers = { cookie: entered.headers.get('set-cookie')?.split(';')[0] ?? '' };
    const page = new URL(entered.headers.get('location') ?? '', entered.url);
    const html = await (await fetch(page, { headers })).text();
    const [, ...files] = [...html.matchAll(/(?:href|src)="(page\/[^"]+)"/g)].map(([, file = '']) => file);
    assert.ok(files.length > 5);
    for (const file of files) {
      const source = await readFile(path.join(root, 'cli/ui', file), 'utf8');
      assert.equal(await (await fetch(new URL(file, page), { headers })).text(), source);
    }
    await installAsKrew(t, path.join(root, archive), await readFile(path.join(root, krew), 'utf8'));
  });

  test('contains one manifest for Krew, with the archives of all platforms', async (t) => {
    const directory = await temporaryDirectory(t, 'archives-');
    const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];
    for (const platform of platforms) await writeFile(path.join(directory, archiveName(platform)), platform);
    await writeFile(path.join(directory, 'kubectl-stoker-0.1.0.tgz'), 'the npm package');
    const { spec } = v.parse(pluginSchema, parse(await krewManifest(directory)));
    assert.deepEqual(
      spec.platforms.map(({ uri, sha256, selector: { matchLabels } }) => [path.basename(uri), sha256, matchLabels]),
      [
        ['darwin', 'arm64'],
        ['darwin', 'amd64'],
        ['linux', 'arm64'],
        ['linux', 'amd64'],
      ].map(([os, arch], index) => {
        const platform = platforms[index] as string;
        return [archiveName(platform), createHash('sha256').update(platform).digest('hex'), { os, arch }];
      }),
    );
  });
});
