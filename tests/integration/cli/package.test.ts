import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import manifest from '../../../package.json' with { type: 'json' };
import { connectCluster } from '../../support/cluster.ts';

const root = path.join(import.meta.dirname, '../../..');
const run = promisify(execFile);

suite('what a release publishes of kubectl gs', () => {
  test('is a package with one program, and a file that needs no Node', async (t) => {
    const { stdout } = await run(process.execPath, [path.join(root, 'scripts/package-cli.ts')]);
    const [folder = '', executable = ''] = stdout.trim().split('\n');

    const published = JSON.parse(await readFile(path.join(root, folder, 'package.json'), 'utf8'));
    assert.equal(published.version, manifest.version);
    assert.equal(published.dependencies, undefined);
    for (const file of published.files) await access(path.join(root, folder, file), constants.R_OK);
    await access(path.join(root, folder, published.bin['kubectl-gs']), constants.X_OK);

    const { kubeconfig } = await connectCluster();
    const plugin = path.join(root, executable);
    const env = { PATH: '/nowhere', HOME: '/nowhere', KUBECONFIG: kubeconfig };
    assert.equal((await run(plugin, ['--version'], { env })).stdout, `${manifest.version}\n`);
    const { stderr } = await run(plugin, ['status', '-n', 'default'], { env });
    assert.match(stderr, /there is no GatewaySync in the namespace default/);

    const ui = spawn(plugin, ['ui', '--no-open', '-n', 'default'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
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
  });
});
