import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import type { ApiObject } from '../testbed/apply-object.ts';
import { gatewayPodSpec } from '../testbed/gateway-pod-spec.ts';

export const NAMESPACE = 'stoker-demo';
export const RESOURCE = 'gateways';
export const POD = 'gateway-0';
export const BRANCH = 'main';

/** Returns a GatewaySync that maps the directory for all gateways, with the gateway's own directory over it. */
export function gatewaySyncObject(repo: string, pollInterval: string, publish = 'files'): ApiObject & { spec: object } {
  return {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name: RESOURCE, namespace: NAMESPACE },
    spec: {
      git: { repo, ref: BRANCH },
      polling: { enabled: true, interval: pollInterval },
      sync: {
        profiles: {
          default: {
            mappings: [
              { source: 'shared', destination: 'config', publish },
              { source: 'gateways/{{ .GatewayName }}', destination: 'config' },
            ],
          },
        },
      },
    },
  };
}

/** A pod as a user writes it, with one annotation and nothing else of the product. */
export const podObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: POD,
    namespace: NAMESPACE,
    labels: { 'app.kubernetes.io/name': 'plant-1' },
    annotations: { 'sync.io/inject': 'true' },
  },
  spec: gatewayPodSpec,
};

/** The first commit of the sample repository. */
export const sampleFiles = {
  'README.md': 'Configuration of our gateways.\n',
  'shared/logging.json': '{ "level": "info" }\n',
  'shared/greeting.txt': 'hello from the first commit\n',
  'gateways/plant-1/tags.json': '{ "site": "plant-1", "tags": [] }\n',
};
