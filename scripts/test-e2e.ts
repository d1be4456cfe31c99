import { spawnSync } from 'node:child_process';
import path from 'node:path';

// Runs the end-to-end tests on the cluster that KUBECONFIG selects; they install the chart into their own namespaces.
// A cluster can hold only one installation, so use a cluster without the chart.
//
// The images are `$E2E_IMAGE_REGISTRY/{controller,receiver,agent}:$E2E_IMAGE_TAG` (default: stoker-operator, e2e).
// `E2E_LOAD_IMAGES` is a shell command that loads them into the cluster, run first with these two variables set. For kind:
//
//   export E2E_LOAD_IMAGES='for p in controller receiver agent; do i=$E2E_IMAGE_REGISTRY/$p:$E2E_IMAGE_TAG;
//     docker build --target $p --tag $i . && kind load docker-image $i || exit 1; done'
//
// Omit it if the cluster pulls the images from a registry. `npm run test:e2e -- FILE…` runs only these.

const { KUBECONFIG, E2E_IMAGE_REGISTRY = 'stoker-operator', E2E_IMAGE_TAG = 'e2e', E2E_LOAD_IMAGES } = process.env;
const files = process.argv.slice(2);

function run(command: string, ...args: string[]): number {
  const cwd = path.join(import.meta.dirname, '..');
  const env = { ...process.env, E2E_IMAGE_REGISTRY, E2E_IMAGE_TAG };
  return spawnSync(command, args, { cwd, env, stdio: 'inherit' }).status ?? 1;
}

function testEndToEnd(): number {
  const status = E2E_LOAD_IMAGES ? run('/bin/sh', '-c', E2E_LOAD_IMAGES) : 0;
  if (status !== 0) console.error(`E2E_LOAD_IMAGES exited with status ${status}.`);
  const named = files.length > 0 ? files : ['tests/e2e/*.test.ts'];
  return status || run(process.execPath, '--test', '--test-concurrency=1', '--test-reporter=spec', ...named);
}

if (!KUBECONFIG) console.error('KUBECONFIG is not set: set it to the cluster in which the tests install the chart.');
process.exitCode = KUBECONFIG ? testEndToEnd() : 1;
