import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { bundleOptions } from '../../images/bundle-options.ts';
import { readNodeFlags } from '../../images/read-entry-point.ts';
import { type ControlPlane, startControlPlane } from '../../testbed/control-plane.ts';
import { freePort } from '../../testbed/free-port.ts';
import { type GuardedProcess, startGuarded } from '../../testbed/guarded-process.ts';
import { installCrds } from '../../testbed/install-crds.ts';
import type { ServerDetails } from '../../testbed/server-details.ts';
import { SECRET } from './requests.ts';

export const NAMESPACE = 'bench';
const root = path.join(import.meta.dirname, '../../..');

/** One arena of glibc's allocator: with one for each thread, memory that is given back stays in the process. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1' };

/** A running server under measurement. */
export interface Server {
  process: GuardedProcess;
  port: number;
  metricsPort: number;
}

/** A control plane with resources `r0`, `r1`, … that nobody reconciles. */
export async function prepareCluster(resources: number): Promise<ControlPlane> {
  const cluster = await startControlPlane();
  await installCrds(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const items = Array.from({ length: resources }, (_, index) => ({
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name: `r${index}`, namespace: NAMESPACE },
    spec: {
      git: { repo: 'https://git.example.test/site.git', ref: 'main' },
      sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } },
    },
  }));
  await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'create', '--filename', '-');
  return cluster;
}

/** Opens connections to the API server as the administrator, and says whose token and which authority they need. */
export async function connectionsTo(cluster: ServerDetails) {
  const { users } = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
  const { hostname, port } = new URL(cluster.url);
  const ca = await readFile(cluster.caFile, 'utf8');
  return {
    token: users[0].user.token as string,
    ca,
    connect: () => connectTls({ host: hostname, port: Number(port), ca }),
  };
}

/** Runs the receiver as its image does. */
export async function startReceiver(cluster: ServerDetails, environment: Record<string, string> = {}): Promise<Server> {
  const [port, health, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    KUBECONFIG: cluster.kubeconfig,
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: String(port),
    HEALTH_PORT: String(health),
    METRICS_PORT: String(metricsPort),
    WEBHOOK_HMAC_SECRET: SECRET,
    // All load comes from one address.
    MAX_CONNECTIONS_PER_ADDRESS: '0',
    ...environment,
  };
  const process = startNode(
    [...(await flagsOf()), path.join(root, 'dist/receiver.mjs')],
    env,
    path.join(cluster.dir, 'receiver.log'),
  );
  await untilAnswers(`http://127.0.0.1:${health}/readyz`);
  return { process, port, metricsPort };
}

type Other = keyof typeof others;

/** The sources of h3 apps that are not the receiver. */
const others = { floor: import.meta.resolve('./floor-server.ts'), flat: import.meta.resolve('./flat-server.ts') };

/**
 * Runs an h3 app that is not the receiver, with the same flags: `floor`, which does the least, or `flat`, which does what
 * the receiver has to do in one handler. From its sources, or from a bundle of them.
 */
export async function startOther(cluster: ServerDetails, name: Other, bundle?: string): Promise<Server> {
  const port = await freePort();
  const { token, ca } = await connectionsTo(cluster);
  const env = { API_SERVER: cluster.url, API_TOKEN: token, API_CA: ca, KUBECONFIG: cluster.kubeconfig };
  const args = [...(await flagsOf()), bundle ?? fileURLToPath(others[name]), String(port)];
  const process = startNode(args, env, path.join(cluster.dir, `${name}.log`));
  await untilAnswers(`http://127.0.0.1:${port}/`);
  return { process, port, metricsPort: 0 };
}

/** Bundles an app as the receiver is, into a folder, and gives the file. */
export async function bundleOther(name: Other, folder: string): Promise<string> {
  const outfile = path.join(folder, `${name}.mjs`);
  await build({ ...bundleOptions, entryPoints: [fileURLToPath(others[name])], outfile });
  return outfile;
}

/** The flags of Node in the receiver's image. */
async function flagsOf(): Promise<string[]> {
  return await readNodeFlags('receiver');
}

function startNode(args: string[], environment: Record<string, string>, log: string): GuardedProcess {
  const { PATH = '', HOME = '' } = process.env;
  return startGuarded(process.execPath, args, { env: { PATH, HOME, ...ALLOCATOR, ...environment }, output: { log } });
}

async function untilAnswers(url: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await sleep(50)) {
    if (await fetch(url).catch(() => undefined)) return;
  }
  throw new Error(`${url} does not answer`);
}
