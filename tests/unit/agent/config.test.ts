import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { agentConfigSchema } from '../../../agent/config.ts';
import { describeFailure } from '../../../agent/report/describe-failure.ts';
import { readConfig } from '../../../shared/config.ts';
import { TerminalError, TransientError, WaitingError } from '../../../shared/errors.ts';
import { DENIED_NETWORKS } from '../../../shared/io/local-address.ts';
import { codedError } from '../../support/coded-error.ts';

const required = { POD_NAME: 'p', POD_NAMESPACE: 'n', POD_UID: 'u', CR_NAME: 'c', DATA_PATH: '/data' };

suite('the configuration of the agent', () => {
  test('has the documented defaults', () => {
    assert.deepEqual(readConfig(agentConfigSchema, required), {
      ...required,
      PROFILE: 'default',
      REPO_PATH: '/repo',
      DATA_MOUNTS: [],
      GATEWAY_PORT: 8088,
      GATEWAY_TLS: false,
      SHARE_PROCESS_NAMESPACE: false,
      GIT_DENIED_NETWORKS: DENIED_NETWORKS,
      GIT_ALLOW_LOCAL: false,
      HEALTH_PORT: 8082,
      METRICS_PORT: 8083,
      LOG_LEVEL: 'info',
    });
  });

  test('reads every variable', () => {
    const own = 'REPO_PATH MEMORY_PATH POD_LABELS_FILE API_KEY_FILE RELOAD_HEADERS_DIR';
    const git =
      'GIT_TOKEN_FILE GIT_SSH_KEY_FILE GIT_KNOWN_HOSTS_FILE GIT_CA_FILE GIT_EXTRA_CA_FILE GIT_VERIFY_KEYS_DIR';
    const paths = Object.fromEntries(`${own} ${git}`.split(' ').map((name) => [name, `/${name}`]));
    const texts = { ...required, ...paths, PROFILE: 'blue', GATEWAY_NAME: 'press', LOG_LEVEL: 'warn' };
    const ports = { GATEWAY_PORT: '1', HEALTH_PORT: '2', METRICS_PORT: '3' };
    const flags = { GATEWAY_TLS: 'true', SHARE_PROCESS_NAMESPACE: 'true', GIT_ALLOW_LOCAL: 'true' };
    const given = {
      ...texts,
      ...ports,
      ...flags,
      DATA_MOUNTS: '["logs/", "./a//b"]',
      GIT_DENIED_NETWORKS: '10.0.0.0/8',
    };
    assert.deepEqual(readConfig(agentConfigSchema, given), {
      ...texts,
      GATEWAY_PORT: 1,
      HEALTH_PORT: 2,
      METRICS_PORT: 3,
      GATEWAY_TLS: true,
      SHARE_PROCESS_NAMESPACE: true,
      GIT_ALLOW_LOCAL: true,
      DATA_MOUNTS: ['logs', 'a/b'],
      GIT_DENIED_NETWORKS: ['10.0.0.0/8'],
    });
    for (const name of [...Object.keys(paths), 'DATA_PATH'])
      assert.throws(() => readConfig(agentConfigSchema, { ...given, [name]: 'x' }), new RegExp(`\\b${name}\\b`));
    for (const mounts of ['{', '{}', '[1]', '[""]', '["a", "/.."]'])
      assert.throws(() => readConfig(agentConfigSchema, { ...given, DATA_MOUNTS: mounts }), /\bDATA_MOUNTS\b/);
  });

  test('reads a state directory, but not one with the name of the usual one, which can have other data', () => {
    const read = (STATE_DIRECTORY: string) => readConfig(agentConfigSchema, { ...required, STATE_DIRECTORY });
    assert.equal(read('a//state/').STATE_DIRECTORY, 'a/state');
    for (const path of ['.sync-agent', 'a/.sync-agent', '.Sync-Agent/staging'])
      assert.throws(() => read(path), /STATE_DIRECTORY: .*\.sync-agent/);
  });

  test('reports every problem at once', () => {
    const wrong = {
      ...required,
      POD_UID: '',
      DATA_PATH: 'data',
      METRICS_PORT: '70000',
      GATEWAY_TLS: 'yes',
      LOG_LEVEL: 'loud',
      DATA_MOUNTS: '["../x"]',
    };
    assert.throws(
      () => readConfig(agentConfigSchema, wrong),
      ({ message }: Error) =>
        ['POD_UID', 'DATA_PATH', 'METRICS_PORT', 'GATEWAY_TLS', 'LOG_LEVEL', 'DATA_MOUNTS'].every((name) =>
          message.includes(name),
        ),
    );
  });
});

suite('describeFailure', () => {
  const details = { code: 'x.y', reason: 'NotComplete' } as const;
  const later = { ...details, retryAfterMs: 9 };
  const unusable = { reason: 'VolumeUnusable' };
  const failed = (code: string, path = '/data/x', dest?: string) => Object.assign(codedError(code), { path, dest });
  const again = { isWaiting: false, retryAfterMs: 0, isFinal: false };
  const final = { ...again, isFinal: true };
  const cases: [name: string, error: unknown, expected: object, message: RegExp][] = [
    ['a terminal error', new TerminalError('m', details), { ...details, ...final }, /^m$/],
    ['a host that asks to wait', new TransientError('m', later), { ...again, ...later }, /^m$/],
    ['waiting', new WaitingError('m', later), { ...again, ...later, isWaiting: true }, /^m$/],
    ['a mount in the way', failed('EBUSY'), { code: 'data.EBUSY', ...unusable, ...again }, /\(EBUSY, \/data\/x\)$/],
    ['a full disk', failed('ENOSPC'), { code: 'data.ENOSPC', reason: 'VolumeFull', ...again }, /\(ENOSPC\b/],
    ['a disk that fails', failed('EIO'), { code: 'data.EIO', ...unusable, ...again }, /\(EIO, \/data\/x\)$/],
    [
      'a volume of another user, which the agent sees through /proc',
      failed('EACCES', '/proc/1/fd/18/.sync-agent'),
      { code: 'data.EACCES', ...unusable, ...final },
      /runAsUser.*\(EACCES, \.sync-agent\)$/,
    ],
    [
      "a name that the volume doesn't accept",
      failed('ENAMETOOLONG', '/staging/0', '/data/x'),
      { code: 'data.ENAMETOOLONG', ...unusable, ...final },
      /\(ENAMETOOLONG, \/data\/x\)$/,
    ],
    [
      'a directory that the agent held open, by whatever number',
      failed('EXDEV', '/proc/7/fd/32/0', '/proc/7/fd/33/x'),
      { code: 'data.EXDEV', reason: 'PathConflict', ...final },
      /\(EXDEV, x\)$/,
    ],
    [
      'the same without an explanation for a volume',
      failed('ESTALE', '/proc/7/fd/32/0', '/proc/7/fd/33/x'),
      { code: 'ESTALE', reason: 'UnexpectedError', ...again },
      /\(ESTALE, x\)/,
    ],
    ['anything else', 'm', { code: 'unexpected', reason: 'UnexpectedError', ...again }, /\(string\)/],
  ];
  for (const [name, error, expected, expectedMessage] of cases) {
    test(name, () => {
      const { message, ...rest } = describeFailure(error);
      assert.deepEqual(rest, expected);
      assert.match(message, expectedMessage);
    });
  }
});
