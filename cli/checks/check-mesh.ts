import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import { type Findings, failed } from './finding.ts';
import type { Pod } from './objects.ts';

/** A service mesh with a proxy in each pod. */
interface Mesh {
  name: string;
  /** Name of the proxy's container. */
  proxy: string;
  /** Annotations that limit which connections of the pod go through the proxy. */
  outbound: string[];
  /** Annotation in the suggestion. */
  suggested: string;
}

const MESHES: Mesh[] = [
  {
    name: 'Istio',
    proxy: 'istio-proxy',
    outbound: [
      'excludeOutboundPorts',
      'excludeOutboundIPRanges',
      'includeOutboundPorts',
      'includeOutboundIPRanges',
    ].map((name) => `traffic.sidecar.istio.io/${name}`),
    suggested: 'traffic.sidecar.istio.io/excludeOutboundPorts',
  },
  {
    name: 'Linkerd',
    proxy: 'linkerd-proxy',
    outbound: ['config.linkerd.io/skip-outbound-ports', 'config.linkerd.io/skip-subnets'],
    suggested: 'config.linkerd.io/skip-outbound-ports',
  },
];

/**
 * Checks whether the agent can connect to servers. A proxy that isn't a native sidecar, or that comes after the agent,
 * starts when the first sync is complete, and until then the connections that are redirected to it fail.
 */
export function checkMesh({ metadata: { annotations = {} }, spec }: Pod): Findings {
  const initContainers = (spec.initContainers ?? []).map(({ name }) => name);
  const agent = initContainers.indexOf(AGENT_CONTAINER);
  return MESHES.flatMap(({ name, proxy, outbound, suggested }) => {
    const isLater =
      initContainers.indexOf(proxy) > agent || spec.containers.some((container) => container.name === proxy);
    if (agent === -1 || !isLater || outbound.some((annotation) => annotation in annotations)) return [];
    const says = `the proxy of ${name} (${proxy}) starts after the first sync, which needs it to connect to the git server`;
    const todo = `use native sidecars, or exclude the ports of the git server and the API server with ${suggested}`;
    return failed('pod/mesh', says, { todo, page: 'how-to/service-meshes.md' });
  });
}
