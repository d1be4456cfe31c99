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
    const files = ['POD_LABELS_FILE', 'MEMORY_PATH', 'API_KEY_FILE', 'RELOAD_HEADERS_DIR', 'GIT_TOKEN_FILE'];
    const more = [
      'GIT_SSH_KEY_FILE',
      'GIT_KNOWN_HOSTS_FILE',
      'GIT_CA_FILE',
      'GIT_EXTRA_CA_FILE',
      'GIT_VERIFY_KEYS_DIR',
    ];
    const paths = Object.fromEntries([...files, ...more, 'REPO_PATH'].map((name) => [name, `/${name}`]));
    const texts = { ...required, ...paths, PROFILE: 'blue', GATEWAY_NAME: 'press', LOG_LEVEL: 'warn' };
    const ports = { GATEWAY_PORT: '1', HEALTH_PORT: '2', METRICS_PORT: '3' };
    const flags = { GATEWAY_TLS: 'true', SHARE_PROCESS_NAMESPACE: 'true', GIT_ALLOW_LOCAL: 'true' };
    const given = { ...texts, ...ports, ...flags, DATA_MOUNTS: '["a"]', GIT_DENIED_NETWORKS: '10.0.0.0/8' };
    assert.deepEqual(readConfig(agentConfigSchema, given), {
      ...texts,
      GATEWAY_PORT: 1,
      HEALTH_PORT: 2,
      METRICS_PORT: 3,
      GATEWAY_TLS: true,
      SHARE_PROCESS_NAMESPACE: true,
      GIT_ALLOW_LOCAL: true,
      DATA_MOUNTS: ['a'],
      GIT_DENIED_NETWORKS: ['10.0.0.0/8'],
    });
    for (const name of [...Object.keys(paths), 'DATA_PATH'])
      assert.throws(() => readConfig(agentConfigSchema, { ...given, [name]: 'x' }), new RegExp(`${name}: .* absolute`));
    for (const mounts of ['{', '{}', '[1]', '[""]', '["a", "/.."]'])
      assert.throws(
        () => readConfig(agentConfigSchema, { ...given, DATA_MOUNTS: mounts }),
        /list of relative paths in JSON/,
      );
  });

  test('normalizes the paths of mounts', () => {
    const given = { ...required, DATA_MOUNTS: '["logs/", "./a//b"]' };
    assert.deepEqual(readConfig(agentConfigSchema, given).DATA_MOUNTS, ['logs', 'a/b']);
  });

  test('reads a state directory, but not one with the name of the usual one, which can have other data', () => {
    const read = (STATE_DIRECTORY: string) => readConfig(agentConfigSchema, { ...required, STATE_DIRECTORY });
    assert.equal(read('a//state/').STATE_DIRECTORY, 'a/state');
    for (const path of ['.sync-agent', 'a/.sync-agent', '.Sync-Agent/staging'])
      assert.throws(() => read(path), /STATE_DIRECTORY: must not contain the name \.sync-agent/);
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
  const cases: [name: string, error: unknown, expected: object][] = [
    [
      'a terminal error',
      new TerminalError('m', details),
      { message: 'm', code: 'x.y', isWaiting: false, retryAfterMs: 0, isFinal: true },
    ],
    [
      'a mount in the way',
      Object.assign(new Error('EBUSY: resource busy or locked'), { code: 'EBUSY', path: '/data/x' }),
      {
        message:
          'a mount or a program uses a file or directory of the data volume, so the agent cannot replace or remove it (EBUSY, /data/x)',
        code: 'data.EBUSY',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: false,
      },
    ],
    [
      'a host that asks to wait',
      new TransientError('m', { ...details, retryAfterMs: 9 }),
      { message: 'm', code: 'x.y', isWaiting: false, retryAfterMs: 9, isFinal: false },
    ],
    [
      'a full disk',
      Object.assign(new Error('ENOSPC: …'), { code: 'ENOSPC', path: '/data/x' }),
      {
        message: 'the data volume is full (ENOSPC, /data/x)',
        code: 'data.ENOSPC',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: false,
      },
    ],
    [
      'a disk that fails',
      Object.assign(new Error('EIO: i/o error'), { code: 'EIO', path: '/data/x' }),
      {
        message: 'the disk or file server of the data volume reports I/O errors (EIO, /data/x)',
        code: 'data.EIO',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: false,
      },
    ],
    [
      'a volume that belongs to somebody else, which the agent sees through /proc',
      Object.assign(new Error('EACCES: …'), { code: 'EACCES', path: '/proc/1/fd/18/.sync-agent' }),
      {
        message:
          "the agent can't write to the data volume: in the pod's securityContext, set runAsUser to the user that owns the files, and fsGroup if it isn't set, or change the owner of the files to the agent's user (EACCES, .sync-agent)",
        code: 'data.EACCES',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: true,
      },
    ],
    [
      'a name that the volume does not take',
      Object.assign(new Error('ENAMETOOLONG: …'), { code: 'ENAMETOOLONG', path: '/staging/0', dest: '/data/x' }),
      {
        message: 'a file name is too long for the data volume (ENAMETOOLONG, /data/x)',
        code: 'data.ENAMETOOLONG',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: true,
      },
    ],
    [
      'a folder that the agent held open, by whatever number',
      Object.assign(new Error('EXDEV: …'), { code: 'EXDEV', path: '/proc/7/fd/32/0', dest: '/proc/7/fd/33/x' }),
      {
        message: 'another volume is mounted inside the data volume, and the agent cannot deliver into it (EXDEV, x)',
        code: 'data.EXDEV',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: true,
      },
    ],
    [
      'the same without an explanation for a volume',
      Object.assign(codedError('ESTALE'), { path: '/proc/7/fd/32/0', dest: '/proc/7/fd/33/x' }),
      {
        message: 'the file server no longer has it (ESTALE, x); see the log of the agent',
        code: 'ESTALE',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: false,
      },
    ],
    [
      'waiting',
      new WaitingError('m', { ...details, retryAfterMs: 9 }),
      { message: 'm', code: 'x.y', isWaiting: true, retryAfterMs: 9, isFinal: false },
    ],
    [
      'anything else',
      'm',
      {
        message: 'internal error (string); see the log of the agent',
        code: 'unexpected',
        isWaiting: false,
        retryAfterMs: 0,
        isFinal: false,
      },
    ],
  ];
  for (const [name, error, expected] of cases) {
    test(name, () => assert.deepEqual(describeFailure(error), expected));
  }
});
