import { imageOf } from './cluster.ts';

/** Returns the template of a gateway's pod, which idles, has a data volume, and requests the agent. */
export function gatewayPod(): { metadata: object; spec: object } {
  const { repository, tag } = imageOf('agent');
  const container = {
    name: 'gateway',
    image: `${repository}:${tag}`,
    command: ['sleep', 'infinity'],
    securityContext: { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  };
  return {
    metadata: { labels: { app: 'gateway' }, annotations: { 'sync.io/inject': 'true' } },
    spec: { containers: [container], volumes: [{ name: 'data', emptyDir: {} }], terminationGracePeriodSeconds: 2 },
  };
}

/** Returns a Deployment of {@link gatewayPod}. */
export function gatewayDeployment(namespace: string): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'gateway', namespace },
    spec: { selector: { matchLabels: { app: 'gateway' } }, template: gatewayPod() },
  };
}

/** Returns a GatewaySync that follows `main` and delivers the directory `config`; polling is disabled. */
export function gatewaySync(namespace: string, repo: string): object {
  const mappings = [{ source: 'config', destination: 'config', type: 'dir' }];
  return {
    apiVersion: 'sync.io/v1alpha1',
    kind: 'GatewaySync',
    metadata: { name: 'site', namespace },
    spec: { git: { repo, ref: 'main' }, polling: { enabled: false }, sync: { profiles: { default: { mappings } } } },
  };
}
