import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { configSchema } from '../../../controller/config.ts';
import { readConfig } from '../../../shared/config.ts';

const least = { DEFAULT_AGENT_IMAGE: 'agent:1', WEBHOOK_CERT_DIR: '/certs' };

suite('the configuration of the controller', () => {
  test('has the documented defaults', () => {
    assert.deepEqual(readConfig(configSchema, least), {
      ...least,
      POD_NAME: 'controller',
      POD_NAMESPACE: 'default',
      WATCH_NAMESPACES: [],
      LEADER_ELECTION: true,
      WEBHOOK_PORT: 9443,
      HEALTH_PORT: 8081,
      METRICS_PORT: 8443,
      METRICS_SECURE: true,
      AGENT_IMAGE_ALLOWED_REPOSITORIES: [],
      AUTO_BIND_AGENT: true,
      GIT_ALLOW_LOCAL: false,
      GITHUB_APP: false,
      LOG_LEVEL: 'info',
      LOG_DEV_MODE: false,
    });
  });

  test('takes an empty variable for none', () => {
    assert.deepEqual(readConfig(configSchema, { ...least, WATCH_NAMESPACES: '', LOG_LEVEL: '' }).WATCH_NAMESPACES, []);
    assert.deepEqual(readConfig(configSchema, { ...least, WATCH_NAMESPACES: 'a, b,' }).WATCH_NAMESPACES, ['a', 'b']);
  });

  test('names every problem at once', () => {
    const wrong = { ...least, WEBHOOK_PORT: '70000', LEADER_ELECTION: 'yes', LOG_LEVEL: 'loud', HEALTH_PORT: '-1' };
    assert.throws(
      () => readConfig(configSchema, wrong),
      ({ message }: Error) =>
        ['WEBHOOK_PORT', 'LEADER_ELECTION', 'LOG_LEVEL', 'HEALTH_PORT'].every((name) => message.includes(name)),
    );
  });

  test('needs an image and a certificate, unless the webhook is off', () => {
    assert.throws(() => readConfig(configSchema, { WEBHOOK_CERT_DIR: '/certs' }), /DEFAULT_AGENT_IMAGE: must be set/);
    assert.throws(
      () => readConfig(configSchema, { DEFAULT_AGENT_IMAGE: 'agent:1' }),
      /WEBHOOK_CERT_DIR: must be set, or WEBHOOK_SELF_SIGNED/,
    );
    assert.equal(readConfig(configSchema, { WEBHOOK_PORT: '0' }).WEBHOOK_PORT, 0);
  });
});
