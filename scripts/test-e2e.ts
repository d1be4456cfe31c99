import { spawnSync } from 'node:child_process';
import path from 'node:path';

/**
 * Runs the end-to-end tests on the cluster that KUBECONFIG selects; they install the chart into their own namespaces.
 * A cluster can hold only one installation, so use a cluster without the chart.
 *
 * The images are `$E2E_IMAGE_REGISTRY/{controller,receiver,agent}:$E2E_IMAGE_TAG` (default: stoker-operator, e2e).
 * `E2E_LOAD_IMAGES` is a shell command that loads them into the cluster, run first with these two variables set. For kind:
 *
 *   export E2E_LOAD_IMAGES='for p in controller receiver agent; do i=$E2E_IMAGE_REGISTRY/$p:$E2E_IMAGE_TAG;
 *     docker build --target $p --tag $i . && kind load docker-image $i || exit 1; done'
 *
 * Omit it if the cluster pulls the images from a registry. `npm run test:e2e -- FILE…` runs only these.
 */
function testEndToEnd(files: string[]): number {
  if (!process.env.KUBECONFIG) {
    process.stderr.write(
      'KUBECONFIG is not set: set it to the cluster in which the end-to-end tests install the chart.\n',
    );
    return 1;
  }
  const { E2E_IMAGE_REGISTRY = 'stoker-operator', E2E_IMAGE_TAG = 'e2e', E2E_LOAD_IMAGES } = process.env;
  const env = { ...process.env, E2E_IMAGE_REGISTRY, E2E_IMAGE_TAG };
  if (E2E_LOAD_IMAGES) {
    const status = run('/bin/sh', ['-c', E2E_LOAD_IMAGES], env);
    if (status !== 0) {
      process.stderr.write(`E2E_LOAD_IMAGES exited with status ${status}.\n`);
      return status;
    }
  }
  const reporter = '--test-reporter=spec';
  return run(process.execPath, ['--test', '--test-concurrency=1', reporter, ...files], env);
}

function run(command: string, args: string[], env: NodeJS.ProcessEnv): number {
  const cwd = path.join(import.meta.dirname, '..');
  return spawnSync(command, args, { cwd, env, stdio: 'inherit' }).status ?? 1;
}

const files = process.argv.slice(2);
process.exitCode = testEndToEnd(files.length > 0 ? files : ['tests/e2e/*.test.ts']);
