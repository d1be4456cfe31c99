import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace } from '../../support/cluster.ts';
import { type ControllerTimes, type OwnController, startController } from '../../support/start-controller.ts';
import { installWebhook, untilWebhookWorks } from '../../support/webhook-configuration.ts';

export interface Container {
  name: string;
  restartPolicy?: string;
  image: string;
  env: { name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }[];
  ports: { name: string; containerPort: number; hostPort?: number }[];
  volumeMounts: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
  securityContext: Record<string, unknown>;
  resources: object;
}

export interface Pod {
  metadata: { name: string; annotations: Record<string, string>; labels: Record<string, string> };
  spec: {
    initContainers?: Container[];
    containers: Container[];
    volumes: { name: string; configMap?: { name: string } }[];
  };
}

export interface InjectionWorld {
  namespace: string;
  controller: OwnController;
  /** Port of the admission endpoint. */
  port: number;
  /** Reviews of the endpoint since the test began, by outcome; outcomes without reviews are absent. */
  countReviews: () => Promise<Record<string, number>>;
  /** Value of a gauge of the controller. */
  readGauge: (name: string) => Promise<number>;
}

/** Creates a namespace with a webhook, and returns the environment of a controller that serves it. */
export async function prepareInjection(t: TestContext, labels?: Record<string, string>) {
  const namespace = await createNamespace(t, labels);
  const port = await freePort();
  const metrics = await freePort();
  await installWebhook(t, { name: namespace, namespace, port });
  const environment = {
    WEBHOOK_PORT: String(port),
    WEBHOOK_SELF_SIGNED: namespace,
    METRICS_PORT: String(metrics),
    METRICS_SECURE: 'false',
    DEFAULT_AGENT_IMAGE: 'registry.test:5000/agent:1.2.3',
  };
  return { namespace, port, metrics, environment };
}

/** A separate namespace, and a controller whose admission endpoint the API server calls for it. */
export async function startInjection(
  t: TestContext,
  options: { labels?: Record<string, string>; environment?: Record<string, string>; times?: ControllerTimes } = {},
): Promise<InjectionWorld> {
  const { namespace, port, metrics, environment } = await prepareInjection(t, options.labels);
  const controller = await startController(t, namespace, { ...environment, ...options.environment }, options.times);
  await untilWebhookWorks(namespace);
  const scrape = async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  const countAll = async () => {
    const lines = (await scrape()).matchAll(/^sync_controller_admission_reviews_total\{outcome="(\w+)"\} (\d+)$/gm);
    return new Map([...lines].map(([, outcome = '', count]) => [outcome, Number(count)] as const));
  };
  const before = await countAll();
  return {
    namespace,
    controller,
    port,
    countReviews: async () => {
      const counts = [...(await countAll())].map(
        ([outcome, count]) => [outcome, count - (before.get(outcome) ?? 0)] as const,
      );
      return Object.fromEntries(counts.filter(([, count]) => count > 0));
    },
    readGauge: async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await scrape())?.[1]),
  };
}

/** Creates a pod and returns it as created. */
export async function createPod(pod: object): Promise<Pod> {
  const { namespace } = (pod as { metadata: { namespace: string } }).metadata;
  return await callApi<Pod>({ method: 'POST', path: corePath('pods', namespace), body: pod });
}

/** The only sidecar of a pod. */
export function sidecarOf({ spec, metadata }: Pod): Container {
  const found = [...(spec.initContainers ?? []), ...spec.containers].filter(({ name }) => name === 'sync-agent');
  assert.equal(found.length, 1, `${metadata.name} has ${found.length} sidecars`);
  return found[0] as Container;
}
