import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, constants, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import manifest from '../../../package.json' with { type: 'json' };
import { connectCluster } from '../../support/cluster.ts';

const root = path.join(import.meta.dirname, '../../..');
const run = promisify(execFile);

suite('what a release publishes of kubectl gs', () => {
  test('is a package with one program, and a file that needs no Node', async () => {
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
  });
});
