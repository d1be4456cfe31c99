import * as v from 'valibot';
import { flag, optionalWholeNumber, port, readConfig, wholeNumber } from '../shared/config.ts';
import type { TlsFiles } from '../shared/io/http/listen.ts';
import { LOG_LEVELS, type LogOptions } from '../shared/log.ts';
import type { SecretSource, SecretSources } from './authentication/secrets.ts';

export interface Config {
  /** Address to listen on; any if undefined. */
  host: string | undefined;
  port: number;
  healthPort: number;
  metricsPort: number;
  maxBodyBytes: number;
  /** Maximum number of connections. A further one closes an idle connection, or is closed. */
  maxConnections: number;
  /** Maximum number of connections per address when all are in use; 0 disables the limit. */
  maxConnectionsPerAddress: number;
  /** Number of trusted proxies that append to `X-Forwarded-For`. */
  trustedHops: number;
  /** Failed authentications per minute and address before requests are refused unread; 0 disables the limit. */
  maxFailuresPerMinute: number;
  tls: TlsFiles | undefined;
  secrets: SecretSources;
  log: LogOptions;
}

const text = v.optional(v.string());

const schema = v.pipe(
  v.object({
    RECEIVER_HOST: text,
    RECEIVER_PORT: v.pipe(port(9444), v.minValue(1, 'must be a port number other than 0')),
    WEBHOOK_HMAC_SECRET: text,
    WEBHOOK_HMAC_SECRET_FILE: text,
    WEBHOOK_BEARER_TOKEN: text,
    WEBHOOK_BEARER_TOKEN_FILE: text,
    MAX_BODY_BYTES: wholeNumber(3_145_728, 1),
    MAX_CONNECTIONS: wholeNumber(300, 1),
    MAX_CONNECTIONS_PER_ADDRESS: optionalWholeNumber(),
    MAX_AUTH_FAILURES_PER_MINUTE: wholeNumber(600),
    TRUSTED_PROXY_HOPS: wholeNumber(0),
    HEALTH_PORT: port(8081),
    METRICS_PORT: port(8080),
    TLS_CERT_FILE: text,
    TLS_KEY_FILE: text,
    LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
    LOG_DEV_MODE: flag(false),
  }),
  // With only one of the two files, the server would ignore the configuration.
  v.forward(
    v.partialCheck(
      [['TLS_CERT_FILE'], ['TLS_KEY_FILE']],
      (given) => given.TLS_CERT_FILE !== undefined || given.TLS_KEY_FILE === undefined,
      'must be set together with TLS_KEY_FILE',
    ),
    ['TLS_CERT_FILE'],
  ),
  v.forward(
    v.partialCheck(
      [['TLS_CERT_FILE'], ['TLS_KEY_FILE']],
      (given) => given.TLS_KEY_FILE !== undefined || given.TLS_CERT_FILE === undefined,
      'must be set together with TLS_CERT_FILE',
    ),
    ['TLS_KEY_FILE'],
  ),
);

type Environment = v.InferOutput<typeof schema>;

/** Reads the receiver's configuration from environment variables. Throws `ConfigError` with every problem in it. */
export function readReceiverConfig(environment: Record<string, string | undefined>): Config {
  const given = readConfig(schema, environment);
  return {
    host: given.RECEIVER_HOST,
    port: given.RECEIVER_PORT,
    healthPort: given.HEALTH_PORT,
    metricsPort: given.METRICS_PORT,
    maxBodyBytes: given.MAX_BODY_BYTES,
    maxConnections: given.MAX_CONNECTIONS,
    maxConnectionsPerAddress: given.MAX_CONNECTIONS_PER_ADDRESS ?? shareOf(given),
    trustedHops: given.TRUSTED_PROXY_HOPS,
    maxFailuresPerMinute: given.MAX_AUTH_FAILURES_PER_MINUTE,
    tls: tlsFiles(given),
    secrets: {
      hmac: secretSource(given.WEBHOOK_HMAC_SECRET_FILE, given.WEBHOOK_HMAC_SECRET),
      bearer: secretSource(given.WEBHOOK_BEARER_TOKEN_FILE, given.WEBHOOK_BEARER_TOKEN),
    },
    log: { level: given.LOG_LEVEL, devMode: given.LOG_DEV_MODE },
  };
}

/** A quarter of all connections, but no limit behind proxies, because all senders share the proxies' addresses. */
function shareOf({ MAX_CONNECTIONS, TRUSTED_PROXY_HOPS }: Environment): number {
  return TRUSTED_PROXY_HOPS > 0 ? 0 : Math.ceil(MAX_CONNECTIONS / 4);
}

function tlsFiles({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }: Environment): TlsFiles | undefined {
  return certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;
}

function secretSource(file: string | undefined, value: string | undefined): SecretSource | undefined {
  if (file !== undefined) return { file };
  return value === undefined ? undefined : { value };
}
