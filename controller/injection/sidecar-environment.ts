import type { AgentPorts } from './sidecar-ports.ts';
import { credentialSources, type Followed, headerSources, SIDECAR_PATHS, verifyKeysSecret } from './sidecar-volumes.ts';

const podName = { valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } };

/** What an agent is told of itself. */
export interface AgentIdentity extends Followed {
  profile: string;
  /** Undefined: the pod's name, which is not known yet where it is generated. */
  gatewayName: string | undefined;
  /** Variables that name the proxy to git hosts. */
  proxy: Record<string, string>;
}

/** Environment variables of the sidecar; the agent's own reference says what they mean. */
export function sidecarEnvironment({ crName, profile, gatewayName, proxy, spec }: AgentIdentity, ports: AgentPorts) {
  const { gateway } = spec;
  return [
    { name: 'POD_NAME', ...podName },
    { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
    { name: 'POD_LABELS_FILE', value: `${SIDECAR_PATHS.pod}/labels` },
    { name: 'CR_NAME', value: crName },
    { name: 'PROFILE', value: literal(profile) },
    { name: 'GATEWAY_NAME', ...(gatewayName === undefined ? podName : { value: literal(gatewayName) }) },
    { name: 'REPO_PATH', value: SIDECAR_PATHS.repository },
    { name: 'DATA_PATH', value: SIDECAR_PATHS.data },
    { name: 'GATEWAY_PORT', value: String(gateway.port) },
    { name: 'GATEWAY_TLS', value: String(gateway.tls) },
    ...credentialSources({ crName, spec }).map(({ variable, file }) => ({
      name: variable,
      value: `${SIDECAR_PATHS.credentials}/${file}`,
    })),
    ...(headerSources(spec).length > 0 ? [{ name: 'RELOAD_HEADERS_DIR', value: SIDECAR_PATHS.headers }] : []),
    ...(verifyKeysSecret(spec) ? [{ name: 'GIT_VERIFY_KEYS_DIR', value: SIDECAR_PATHS.verifyKeys }] : []),
    ...Object.entries(proxy).map(([name, value]) => ({ name, value: literal(value) })),
    { name: 'HEALTH_PORT', value: String(ports.health) },
    { name: 'METRICS_PORT', value: String(ports.metrics) },
  ];
}

/** The kubelet replaces `$(NAME)` in values; `$$` stands for a plain `$`. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}
