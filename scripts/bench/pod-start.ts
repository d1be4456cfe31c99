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

/** What runs next to the gateway: nothing, a sidecar that is started at once, or the agent. */
type Next = 'nothing' | 'idle' | 'agent';

/**
 * What the sidecar adds to the start of a pod, on the cluster that `KUBECONFIG` names: with the operator installed, and a
 * GatewaySync in the namespace. `--namespace gateways --image busybox:1.37 --pods 10`; the images are on the node already
 * after the first round, which does not count. A
 * sidecar that does nothing costs time as well: the kubelet looks at probes and containers once a second.
 */
export async function run(args: string[]): Promise<void> {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const options = { namespace: text('gateways'), image: text('busybox:1.37'), pods: text('10') };
  const { values } = parseArgs({ args, options });
  if (!process.env.KUBECONFIG) throw new Error('KUBECONFIG is not set: it names the cluster to measure on');
  const client = clientOf(process.env.KUBECONFIG, { userAgent: 'bench' });
  const times: Record<Next, number[]> = { nothing: [], idle: [], agent: [] };
  for (let round = 0; round <= Number(values.pods); round += 1) {
    for (const next of ['nothing', 'idle', 'agent'] as const) {
      // Or else each pod would meet the kubelet at the same point of its second.
      await sleep(Math.random() * 1000);
      const took = await measure(client, { ...values, next });
      if (round > 0) times[next].push(took);
    }
  }
  const row = (what: string, values: number[]) => [what, seconds(quantile(values, 0.5)), seconds(Math.max(...values))];
  const more = (next: Next) => times[next].map((time, index) => time - (times.nothing[index] ?? Number.NaN));
  printTable(
    ['from the request to a ready pod', 'median', 'slowest', 'aim'],
    [
      [...row('without a sidecar', times.nothing), ''],
      [...row('with a sidecar that does nothing', times.idle), ''],
      [...row('with the agent', times.agent), ''],
      [...row('what a sidecar that does nothing adds', more('idle')), ''],
      [...row('what the agent adds', more('agent')), '≤ 1.5 s'],
    ],
  );
}

interface Start {
  namespace: string;
  image: string;
  next: Next;
}

/** Milliseconds until a new pod is ready; it is removed afterwards. */
async function measure(client: KubernetesClient, { namespace, image, next }: Start): Promise<number> {
  const name = `bench-${randomBytes(4).toString('hex')}`;
  const idle = {
    name: 'idle',
    image,
    command: ['sleep', '3600'],
    restartPolicy: 'Always',
    startupProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
  };
  const started = performance.now();
  await client.create(corePath('pods', namespace), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: next === 'agent' ? { 'sync.io/inject': 'true' } : {} },
    spec: {
      securityContext: { runAsUser: 1000, fsGroup: 1000 },
      initContainers: next === 'idle' ? [idle] : [],
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
