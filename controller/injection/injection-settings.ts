import type { ControllerConfig } from '../config.ts';
import type { InjectionSettings } from './app.ts';
import { proxyEnvironment } from './sidecar.ts';

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
