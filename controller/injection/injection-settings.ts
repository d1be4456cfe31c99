import { exceptionsOf, proxiesOf } from '../../shared/io/http/no-proxy.ts';
import type { ControllerConfig } from '../config.ts';
import type { AgentImages } from './choose-agent-image.ts';
import type { SidecarDefaults } from './sidecar.ts';

/** Settings of the installation that decide about injection. */
export interface InjectionSettings {
  images: AgentImages;
  /** Variables for access to git servers: proxies, denied networks. */
  gitVariables?: Record<string, string> | undefined;
  defaults?: SidecarDefaults | undefined;
}

/** Returns the settings of the sidecars. */
export function injectionSettings(config: ControllerConfig, environment: NodeJS.ProcessEnv): InjectionSettings {
  return {
    images: {
      defaultImage: config.DEFAULT_AGENT_IMAGE ?? '',
      allowedRepositories: config.AGENT_IMAGE_ALLOWED_REPOSITORIES,
    },
    gitVariables: {
      ...proxyEnvironment(environment),
      GIT_DENIED_NETWORKS: config.GIT_DENIED_NETWORKS.join(','),
      GIT_ALLOW_LOCAL: String(config.GIT_ALLOW_LOCAL),
    },
    defaults: {
      allowRoot: config.AGENT_ALLOW_ROOT,
      logLevel: config.AGENT_LOG_LEVEL,
      resources: config.AGENT_RESOURCES,
      caConfigMap: config.AGENT_CA_CONFIG_MAP,
    },
  };
}

/**
 * Returns the variables with which agents use the proxy of the controller, in lower case, which git reads in all cases.
 * A proxy with credentials stays in the controller, because others can read pods.
 */
export function proxyEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const variables = { ...proxiesOf(environment), no_proxy: exceptionsOf(environment) };
  const found = Object.entries(variables).filter(([, value]) => value !== '');
  const isSecret = found.some(([, value]) => value.includes('@'));
  return isSecret ? {} : Object.fromEntries(found);
}
