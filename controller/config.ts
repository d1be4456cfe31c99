import * as v from 'valibot';
import { flag, json, list, networks, port, proxyUrl, wholeNumber } from '../shared/config.ts';
import { DENIED_NETWORKS } from '../shared/io/local-address.ts';
import { LOG_LEVELS } from '../shared/log.ts';

const logLevel = v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`);
const AMOUNT = 'must be an amount such as 10m, 64Mi or 1Gi';
const amount = v.union(
  [v.pipe(v.string(), v.regex(/^\d+(\.\d+)?(e\d+|m|k|[KMGTPE]i|[MGTPE])?$/, AMOUNT)), v.number()],
  AMOUNT,
);
const quantities = v.optional(v.record(v.string(), amount, 'must name resources'));
/** As in a container. */
const resources = v.strictObject({ requests: quantities, limits: quantities }, 'can have only requests and limits');

const configMapKey = v.strictObject(
  {
    name: v.pipe(v.string(), v.regex(/^[a-z0-9][-a-z0-9.]*$/, 'must be the name of a ConfigMap')),
    key: v.pipe(v.string(), v.regex(/^[-._a-zA-Z0-9]+$/, 'must be a key of a ConfigMap')),
  },
  'must have a name and a key',
);

/** Environment of the controller; docs/reference/configuration.md describes it. */
export const configSchema = v.pipe(
  v.object({
    POD_NAME: v.optional(v.string(), 'controller'),
    POD_NAMESPACE: v.optional(v.string(), 'default'),
    WATCH_NAMESPACES: list(),
    LEADER_ELECTION: flag(true),
    WEBHOOK_PORT: port(9443),
    WEBHOOK_CERT_DIR: v.optional(v.string()),
    WEBHOOK_SELF_SIGNED: v.optional(v.string()),
    WEBHOOK_CLIENT_CA_FILE: v.optional(v.string()),
    WEBHOOK_REQUIRE_LABEL: flag(false),
    HEALTH_PORT: port(8081),
    METRICS_PORT: port(8443),
    METRICS_SECURE: flag(true),
    METRICS_HOSTS: v.optional(list(), 'localhost'),
    DEFAULT_AGENT_IMAGE: v.optional(v.string()),
    AGENT_IMAGE_ALLOWED_REPOSITORIES: list(),
    AGENT_LOG_LEVEL: v.optional(logLevel, 'info'),
    AGENT_RESOURCES: json(resources, 'the resources of a container'),
    AGENT_ALLOW_ROOT: flag(false),
    AGENT_CA_CONFIG_MAP: json(configMapKey, 'the name and the key of a ConfigMap'),
    AUTO_BIND_AGENT: flag(true),
    GIT_ALLOW_LOCAL: flag(false),
    GIT_DENIED_NETWORKS: networks(DENIED_NETWORKS),
    GIT_CONCURRENCY: wholeNumber(32, 1),
    GIT_CONCURRENCY_PER_NAMESPACE: wholeNumber(8, 1),
    GIT_CONCURRENCY_PER_HOST: wholeNumber(8, 1),
    GIT_RATE_PER_HOST: wholeNumber(15, 1),
    GITHUB_APP: flag(false),
    HTTPS_PROXY: proxyUrl(),
    HTTP_PROXY: proxyUrl(),
    https_proxy: proxyUrl(),
    http_proxy: proxyUrl(),
    CLUSTER_NAME: v.optional(v.pipe(v.string(), v.regex(/^[-._A-Za-z0-9]{1,63}$/, 'must match [-._A-Za-z0-9]{1,63}'))),
    LEASE_NAME: v.optional(v.string(), 'stoker-operator-controller'),
    POD_UID: v.optional(v.string()),
    MEMORY_PATH: v.optional(v.string()),
    LOG_LEVEL: v.optional(logLevel, 'info'),
    LOG_DEV_MODE: flag(false),
  }),
  v.forward(
    v.check(
      (config) => config.WEBHOOK_PORT === 0 || config.DEFAULT_AGENT_IMAGE !== undefined,
      'must be set, or WEBHOOK_PORT must be 0: no sidecar can be injected without an image',
    ),
    ['DEFAULT_AGENT_IMAGE'],
  ),
  v.forward(
    v.check(
      (config) =>
        config.WEBHOOK_PORT === 0 || config.WEBHOOK_CERT_DIR !== undefined || config.WEBHOOK_SELF_SIGNED !== undefined,
      'must be set, or WEBHOOK_SELF_SIGNED, or WEBHOOK_PORT must be 0: the API server calls admission webhooks over HTTPS only',
    ),
    ['WEBHOOK_CERT_DIR'],
  ),
);

export type ControllerConfig = v.InferOutput<typeof configSchema>;
