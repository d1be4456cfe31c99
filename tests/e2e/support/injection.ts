import { until } from '../../support/until.ts';
import { kubectlWith } from './cluster.ts';

/** Dry-runs the creation of a pod of this template; returns whether it would have the sidecar. */
export async function wouldBeInjected(namespace: string, template: { metadata: object; spec: object }) {
  const { metadata, spec } = template;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'probe', namespace }, spec };
  const answer = await kubectlWith(pod, 'create', '--dry-run=server', '--output=json', '--filename=-');
  return answer.includes('"sync-agent"');
}

/** Until the API server has the webhook's CA, it refuses such a pod. */
export async function untilInjectionWorks(namespace: string, template: { metadata: object; spec: object }) {
  await until(() => wouldBeInjected(namespace, template), {
    describe: 'the admission webhook to add the sidecar',
    timeout: 60_000,
    interval: 500,
  });
}
