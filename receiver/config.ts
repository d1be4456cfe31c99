import * as v from 'valibot';
import { flag, optionalWholeNumber, port, readConfig, wholeNumber } from '../shared/config.ts';
import type { TlsFiles } from '../shared/io/http/listen.ts';
import { LOG_LEVELS } from '../shared/log.ts';
import type { SecretSource, SecretSources } from './authentication/secrets.ts';

const text = v.optional(v.string());

/** Environment of the receiver; docs/reference/configuration.md describes it. */
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

export type Config = ReturnType<typeof readReceiverConfig>;

/** Reads the receiver's configuration from environment variables. Throws `ConfigError` with every problem in it. */
export function readReceiverConfig(environment: Record<string, string | undefined>) {
  const given = readConfig(schema, environment);
  const secrets: SecretSources = {
    hmac: secretSource(given.WEBHOOK_HMAC_SECRET_FILE, given.WEBHOOK_HMAC_SECRET),
    bearer: secretSource(given.WEBHOOK_BEARER_TOKEN_FILE, given.WEBHOOK_BEARER_TOKEN),
  };
  const connectionsPerAddress = given.MAX_CONNECTIONS_PER_ADDRESS ?? shareOf(given);
  return { ...given, secrets, connectionsPerAddress, tls: tlsFiles(given) };
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
