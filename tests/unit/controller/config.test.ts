import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { configSchema } from '../../../controller/config.ts';
import { readConfig } from '../../../shared/config.ts';

const least = { DEFAULT_AGENT_IMAGE: 'agent:1', WEBHOOK_CERT_DIR: '/certs' };

suite('the configuration of the controller', () => {
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) {
    test(`accepts a URL for ${name}, and prints none that it rejects`, () => {
      for (const url of ['http://proxy.test:3128', 'https://user:pa%23ss@proxy.test'])
        assert.equal(readConfig(configSchema, { ...least, [name]: url }).WEBHOOK_PORT, 9443);
      for (const url of [
        'http://user:pa#ss@proxy.test:3128',
        'http://user:pass%@proxy.test',
        'proxy.test:3128',
        'socks5://user:pass@proxy.test',
      ])
        assert.throws(
          () => readConfig(configSchema, { ...least, [name]: url }),
          ({ message }: Error) => {
            assert.match(message, new RegExp(`${name}: `));
            assert.doesNotMatch(message, /user|proxy\.test/);
            return true;
          },
        );
    });
  }

  test('has the documented defaults', () => {
    assert.deepEqual(readConfig(configSchema, least), {
      ...least,
      POD_NAME: 'controller',
      POD_NAMESPACE: 'default',
      WATCH_NAMESPACES: [],
      LEADER_ELECTION: true,
      LEASE_NAME: 'stoker-operator-controller',
      WEBHOOK_PORT: 9443,
      HEALTH_PORT: 8081,
      METRICS_PORT: 8443,
      METRICS_SECURE: true,
      METRICS_HOSTS: ['localhost'],
      AGENT_IMAGE_ALLOWED_REPOSITORIES: [],
      AGENT_LOG_LEVEL: 'info',
      AGENT_ALLOW_ROOT: false,
      AUTO_BIND_AGENT: true,
      WEBHOOK_REQUIRE_LABEL: false,
      GIT_ALLOW_LOCAL: false,
      GIT_DENIED_NETWORKS: [
        ...['127.0.0.0/8', '169.254.0.0/16', '0.0.0.0/8', '::1/128', '::/128', 'fe80::/10'],
        ...['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128', '100.100.100.200/32', '168.63.129.16/32'],
      ],
      GIT_CONCURRENCY: 32,
      GIT_CONCURRENCY_PER_NAMESPACE: 8,
      GIT_CONCURRENCY_PER_HOST: 8,
      GIT_RATE_PER_HOST: 15,
      GITHUB_APP: false,
      LOG_LEVEL: 'info',
      LOG_DEV_MODE: false,
    });
  });

  test('reads flags, numbers, and lists, and rejects values outside their limits', () => {
    const read = (more: Record<string, string>) => readConfig(configSchema, { ...least, ...more });
    const { LEADER_ELECTION, GITHUB_APP } = read({ LEADER_ELECTION: 'false', GITHUB_APP: 'true' });
    assert.deepEqual([LEADER_ELECTION, GITHUB_APP], [false, true]);
    assert.deepEqual(read({ METRICS_HOSTS: 'b,c' }).METRICS_HOSTS, ['b', 'c']);
    for (const name of [
      'GIT_CONCURRENCY',
      'GIT_CONCURRENCY_PER_NAMESPACE',
      'GIT_CONCURRENCY_PER_HOST',
      'GIT_RATE_PER_HOST',
    ] as const) {
      assert.equal(read({ [name]: '1' })[name], 1);
      assert.throws(() => read({ [name]: '0' }), new RegExp(name));
    }
    assert.equal(read({ CLUSTER_NAME: `A-b_c.${'x'.repeat(57)}` }).CLUSTER_NAME?.length, 63);
    for (const name of ['x'.repeat(64), 'a b', 'a/b'])
      assert.throws(() => read({ CLUSTER_NAME: name }), /CLUSTER_NAME: must match/);
  });

  test('treats an empty variable as missing', () => {
    assert.deepEqual(readConfig(configSchema, { ...least, WATCH_NAMESPACES: '', LOG_LEVEL: '' }).WATCH_NAMESPACES, []);
    assert.deepEqual(readConfig(configSchema, { ...least, WATCH_NAMESPACES: 'a, b,' }).WATCH_NAMESPACES, ['a', 'b']);
  });

  test('accepts only networks for networks', () => {
    const read = (networks: string) =>
      readConfig(configSchema, { ...least, GIT_DENIED_NETWORKS: networks }).GIT_DENIED_NETWORKS;
    assert.deepEqual(read('10.0.0.0/8, fd00::/8'), ['10.0.0.0/8', 'fd00::/8']);
    for (const wrong of ['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'example.com/8', '10.0.0.0/8;fd00::/8', '/8'])
      assert.throws(() => read(wrong), /GIT_DENIED_NETWORKS: /, wrong);
  });

  test('accepts a ConfigMap with CAs by its name and key', () => {
    const read = (configMap: string) =>
      readConfig(configSchema, { ...least, AGENT_CA_CONFIG_MAP: configMap }).AGENT_CA_CONFIG_MAP;
    assert.deepEqual(read('{"name":"company-ca","key":"ca.crt"}'), { name: 'company-ca', key: 'ca.crt' });
    assert.equal(read(''), undefined);
    for (const [wrong, words] of [
      ['{"name":"","key":"ca.crt"}', /AGENT_CA_CONFIG_MAP\.name: /],
      ['{"name":"company-ca","key":"../x"}', /AGENT_CA_CONFIG_MAP\.key: /],
      ['{"name":"company-ca"}', /AGENT_CA_CONFIG_MAP/],
    ] as const)
      assert.throws(() => read(wrong), words, wrong);
  });

  test('accepts the resources of agents as in a container', () => {
    const read = (resources: string) =>
      readConfig(configSchema, { ...least, AGENT_RESOURCES: resources }).AGENT_RESOURCES;
    const resources = { requests: { cpu: '10m', memory: 67_108_864 }, limits: { memory: '65536Ki', cpu: '0.5' } };
    assert.deepEqual(read(JSON.stringify(resources)), resources);
    assert.equal(read(''), undefined);
    for (const [wrong, words] of [
      ['{', /AGENT_RESOURCES: /],
      ['{"limit":{}}', /AGENT_RESOURCES\.limit: /],
      ['{"limits":{"cpu":true}}', /AGENT_RESOURCES\.limits\.cpu: /],
      ['{"limits":{"memory":"256MB"}}', /AGENT_RESOURCES\.limits\.memory: /],
      ['{"requests":{"cpu":""}}', /AGENT_RESOURCES\.requests\.cpu: /],
      ['{"limits":7}', /AGENT_RESOURCES\.limits: /],
    ] as const)
      assert.throws(() => read(wrong), words, wrong);
  });

  test('reports every problem at once', () => {
    const wrong = { ...least, WEBHOOK_PORT: '70000', LEADER_ELECTION: 'yes', LOG_LEVEL: 'loud', HEALTH_PORT: '-1' };
    assert.throws(
      () => readConfig(configSchema, wrong),
      ({ message }: Error) =>
        ['WEBHOOK_PORT', 'LEADER_ELECTION', 'LOG_LEVEL', 'HEALTH_PORT'].every((name) => message.includes(name)),
    );
  });

  test('needs an image and a certificate, unless the webhook is off', () => {
    assert.throws(
      () => readConfig(configSchema, { WEBHOOK_CERT_DIR: '/certs' }),
      /DEFAULT_AGENT_IMAGE: .* WEBHOOK_PORT /,
    );
    assert.throws(
      () => readConfig(configSchema, { DEFAULT_AGENT_IMAGE: 'agent:1' }),
      /WEBHOOK_CERT_DIR: .* WEBHOOK_SELF_SIGNED/,
    );
    assert.equal(readConfig(configSchema, { WEBHOOK_PORT: '0' }).WEBHOOK_PORT, 0);
  });
});
