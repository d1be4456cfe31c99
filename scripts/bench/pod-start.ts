import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { clientOf } from '../testbed/client-of.ts';
import { printTable, quantile } from './table.ts';

interface Pod {
  status: { conditions?: { type: string; status: string }[] };
}

/**
 * What the sidecar adds to the start of a pod, on the cluster that `KUBECONFIG` names: with the operator installed, and a
 * GatewaySync in the namespace. `--namespace gateways --image busybox:1.37 --pods 10`; the images are on the node already
 * after the first two pods, which do not count.
 */
export async function run(args: string[]): Promise<void> {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const options = { namespace: text('gateways'), image: text('busybox:1.37'), pods: text('10') };
  const { values } = parseArgs({ args, options });
  if (!process.env.KUBECONFIG) throw new Error('KUBECONFIG is not set: it names the cluster to measure on');
  const client = clientOf(process.env.KUBECONFIG, { userAgent: 'bench' });
  const times = { without: [] as number[], with: [] as number[] };
  for (let pod = 0; pod <= Number(values.pods); pod += 1) {
    const without = await measure(client, { ...values, isGateway: false });
    const withSidecar = await measure(client, { ...values, isGateway: true });
    if (pod === 0) continue;
    times.without.push(without);
    times.with.push(withSidecar);
  }
  const row = (what: string, values: number[]) => [what, seconds(quantile(values, 0.5)), seconds(Math.max(...values))];
  const more = times.with.map((time, index) => time - (times.without[index] ?? Number.NaN));
  printTable(
    ['from the request to a ready pod', 'median', 'slowest', 'aim'],
    [
      [...row('without the sidecar', times.without), ''],
      [...row('with it', times.with), ''],
      [...row('what it adds', more), '≤ 1.5 s'],
    ],
  );
}

interface Start {
  namespace: string;
  image: string;
  isGateway: boolean;
}

/** Milliseconds until a new pod is ready; it is removed afterwards. */
async function measure(client: KubernetesClient, { namespace, image, isGateway }: Start): Promise<number> {
  const name = `bench-${randomBytes(4).toString('hex')}`;
  const started = performance.now();
  await client.create(corePath('pods', namespace), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: isGateway ? { 'sync.io/inject': 'true' } : {} },
    spec: {
      securityContext: { runAsUser: 1000, fsGroup: 1000 },
      containers: [
        { name: 'gateway', image, command: ['sleep', '3600'], volumeMounts: [{ name: 'data', mountPath: '/data' }] },
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
      terminationGracePeriodSeconds: 0,
    },
  });
  const path = corePath('pods', namespace, name);
  const isReady = ({ status }: Pod) =>
    status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  while (!isReady(await client.get<Pod>(path))) {
    if (performance.now() - started > 120_000) throw new Error(`${namespace}/${name} is not ready after two minutes`);
    await sleep(20);
  }
  const took = performance.now() - started;
  await client.delete(path);
  return took;
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
