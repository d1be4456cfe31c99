import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReceiverConfig } from '../../../receiver/config.ts';
import { ConfigError } from '../../../shared/config.ts';

/** The lines of the error, which names each variable that is wrong. */
function problemsOf(environment: Record<string, string>): string[] {
  try {
    readReceiverConfig(environment);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}

test('an empty environment gives the documented defaults', () => {
  assert.deepEqual(readReceiverConfig({ PATH: '/bin', WEBHOOK_HMAC_SECRET: '' }), {
    RECEIVER_PORT: 9444,
    HEALTH_PORT: 8081,
    METRICS_PORT: 8080,
    MAX_BODY_BYTES: 3_145_728,
    MAX_CONNECTIONS: 300,
    MAX_AUTH_FAILURES_PER_MINUTE: 600,
    TRUSTED_PROXY_HOPS: 0,
    LOG_LEVEL: 'info',
    LOG_DEV_MODE: false,
    connectionsPerAddress: 75,
    tls: undefined,
    secrets: { hmac: undefined, bearer: undefined },
  });
});

test('a file takes precedence over the value beside it', () => {
  const { secrets } = readReceiverConfig({
    WEBHOOK_HMAC_SECRET: 'key',
    WEBHOOK_HMAC_SECRET_FILE: '/s/hmac',
    WEBHOOK_BEARER_TOKEN: 'token',
    WEBHOOK_BEARER_TOKEN_FILE: '/s/token',
  });
  assert.deepEqual(secrets, { hmac: { file: '/s/hmac' }, bearer: { file: '/s/token' } });
});

test("all problems of the receiver's configuration are reported at once", () => {
  const problems = problemsOf({
    RECEIVER_PORT: '0',
    HEALTH_PORT: 'x',
    METRICS_PORT: '65536',
    MAX_BODY_BYTES: '-1',
    LOG_LEVEL: 'loud',
    LOG_DEV_MODE: 'yes',
    TLS_CERT_FILE: '/c',
  });
  assert.match(problemsOf({ TLS_KEY_FILE: '/k' }).join(), /^TLS_CERT_FILE/);
  const names = problems.map((problem) => problem.split(':')[0]).sort();
  assert.deepEqual(names, [
    ...['HEALTH_PORT', 'LOG_DEV_MODE', 'LOG_LEVEL', 'MAX_BODY_BYTES', 'METRICS_PORT', 'RECEIVER_PORT', 'TLS_KEY_FILE'],
  ]);
});

test('an address gets a quarter of the connections, and behind proxies all of them', () => {
  const limit = (environment: Record<string, string>) => readReceiverConfig(environment).connectionsPerAddress;
  assert.equal(limit({ MAX_CONNECTIONS: '10' }), 3);
  assert.equal(limit({ TRUSTED_PROXY_HOPS: '1' }), 0);
  assert.equal(limit({ TRUSTED_PROXY_HOPS: '1', MAX_CONNECTIONS_PER_ADDRESS: '7' }), 7);
  assert.equal(limit({ MAX_CONNECTIONS_PER_ADDRESS: '0' }), 0);
});
