import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { judgeResource, reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { resolveProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { defaultProfile } from '../../../support/default-profile.ts';
import { gatewaySpecOf, type SpecInput } from '../../../support/objects.ts';

const mapping = { source: 'a', destination: 'b', required: true, template: false };
const commit = 'a'.repeat(40);

type Spec = WatchedResource['spec'];
type SyncInput = SpecInput['sync'];

const syncOf = (profiles: SyncInput['profiles'], defaults: SyncInput['defaults'] = {}) =>
  gatewaySpecOf({ sync: { defaults, profiles } }).sync;

const unexpected = () => assert.fail('without spec.rollout nobody has to know this');
const unasked = { self: unexpected, findSync: unexpected };

function resource(changes: Partial<WatchedResource> = {}, spec: Partial<Spec> = {}): WatchedResource {
  return {
    generation: 3,
    observedGeneration: 3,
    refResolved: { status: 'True', message: '' },
    ref: 'main',
    commit,
    gateways: 1,
    spec: {
      git: { repo: 'https://git.test/x', ref: 'main', submodules: false },
      sync: syncOf({ default: { mappings: [mapping] } }),
      gateway: { port: 1, tls: false },
      paused: false,
      ...spec,
    },
    ...changes,
  };
}

const withProfile = (profile: object, defaults: object = {}) =>
  resource({}, { sync: syncOf({ default: { mappings: [mapping], ...profile } }, defaults) });
const withGateway = (reload: object) => resource({}, { gateway: { port: 1, tls: false, reload } as Spec['gateway'] });
const withGit = (git: object) =>
  resource({}, { git: { repo: 'https://git.test/x', ref: 'main', ...git } as Spec['git'] });

suite('judgeResource', () => {
  const cases: [name: string, resource: WatchedResource | undefined, kind: string, message?: RegExp][] = [
    ['a settled resource', resource(), 'act'],
    ['no resource', undefined, 'absent'],
    ['a spec that the controller has not seen', resource({ observedGeneration: 2 }), 'unsettled'],
    ['a resource without status', resource({ observedGeneration: undefined, refResolved: undefined }), 'unsettled'],
    [
      'a ref that is not resolved',
      resource({ refResolved: { status: 'False', message: 'no such ref' } }),
      'unsettled',
      /no such ref/,
    ],
    ['a ref of which nothing is known', resource({ refResolved: { status: 'Unknown', message: '' } }), 'unsettled'],
    ['no commit', resource({ commit: undefined }), 'unsettled'],
    ['something else than a commit', resource({ commit: '--upload-pack=x' }), 'unsettled'],
    ['a paused resource', resource({}, { paused: true }), 'paused', /spec.paused/],
    ['a paused resource that is not settled', resource({ observedGeneration: 2 }, { paused: true }), 'paused'],
    ['a paused profile', withProfile({ paused: true }), 'paused', / default /],
    ['a profile that is not paused, with paused defaults', withProfile({ paused: false }, { paused: true }), 'act'],
  ];
  for (const [name, given, kind, message = /^/] of cases) {
    test(`${name}: ${kind}`, () => {
      const verdict = judgeResource(given, 'default', unasked);
      assert.equal(verdict.kind, kind);
      if ('message' in verdict) assert.match(verdict.message, message);
    });
  }

  test('returns an intent with all that the resource requests, and nothing else', () => {
    const profile = resolveProfile({ defaults: {}, profiles: { default: { mappings: [mapping] } } }, 'default');
    const common = { generation: 3, repo: 'https://git.test/x', ref: 'main', commit, profile, ignoresHostKey: false };
    assert.deepEqual(judgeResource(resource(), 'default', unasked), {
      kind: 'act',
      intent: {
        ...common,
        verify: 'none',
        submodules: false,
        reload: {
          preset: 'none',
          requests: [],
          readyPath: undefined,
          touchFile: undefined,
          signal: undefined,
          timeoutMs: 10_000,
          designerTimeoutMs: 300_000,
        },
      },
    });
    const reload = {
      preset: 'ignition' as const,
      readyPath: '/ready',
      touchFile: 'x',
      signal: { name: 'SIGHUP' as const, process: 'nginx' },
      requests: [{ path: '/a' }],
    };
    const ignition = { designerTimeout: '1m' };
    const git = { repo: 'https://git.test/x', ref: 'x', verify: { mode: 'tag' }, submodules: true, timeout: '2m' };
    const full = resource(
      { ref: undefined },
      { git: git as Spec['git'], gateway: gatewaySpecOf({ gateway: { reload, ignition, verify: {} } }).gateway },
    );
    assert.deepEqual(judgeResource(full, 'default', unasked), {
      kind: 'act',
      intent: {
        ...common,
        ref: commit,
        verify: 'tag',
        submodules: true,
        fetchTimeoutMs: 120_000,
        reload: {
          ...reload,
          requests: [{ method: 'POST', path: '/a', timeoutMs: 10_000 }],
          timeoutMs: 10_000,
          designerTimeoutMs: 60_000,
        },
        verification: { requests: [], forMs: 60_000, intervalMs: 5_000, failureThreshold: 3 },
      },
    });
  });

  test('returns an obstacle with its generation, its message, and the start policy', () => {
    const about = { kind: 'unsettled', generation: 3, startPolicy: 'requireSync' };
    const unresolved = resource({ refResolved: { status: 'False', message: 'no' } });
    const { message, ...rest } = judgeResource(unresolved, 'default', unasked) as { message: string };
    assert.deepEqual(rest, about);
    assert.match(message, /: no$/);
    const { generation } = judgeResource(resource({ generation: 4 }), 'default', unasked) as { generation: number };
    assert.equal(generation, 4);
    const profiles = { b: { mappings: [mapping] }, a: { mappings: [mapping] } };
    for (const name of ['default', 'constructor']) {
      const verdict = judgeResource(resource({}, { sync: syncOf(profiles) }), name, unasked);
      assert.ok(verdict.kind === 'refused' && verdict.startPolicy === 'requireSync');
      assert.match(verdict.message, new RegExp(` ${name}, .* a, b\\b.*sync\\.io/profile`));
    }
  });

  test('checks the SSH host key unless the spec says otherwise', () => {
    const secretRef = { name: 'ssh', key: 'key' };
    for (const [auth, expected] of [
      [{ sshKey: { secretRef, insecureIgnoreHostKey: true } }, true],
      [{ sshKey: { secretRef, insecureIgnoreHostKey: false } }, false],
      [undefined, false],
    ] as const) {
      const verdict = judgeResource(withGit(auth ? { auth } : {}), 'default', unasked);
      assert.ok(verdict.kind === 'act');
      assert.equal(verdict.intent.ignoresHostKey, expected);
    }
  });

  test('verifies the gateway if the spec enables it, with defaults for the rest', () => {
    const defaults = { requests: [], forMs: 60_000, intervalMs: 5_000, failureThreshold: 3 };
    const own = { requests: [{ path: '/x' }], for: '0s', interval: '1m', failureThreshold: 1 };
    for (const [verify, expected] of [
      [undefined, undefined],
      [{}, defaults],
      [own, { requests: [{ path: '/x' }], forMs: 0, intervalMs: 60_000, failureThreshold: 1 }],
    ] as const) {
      const verdict = judgeResource(
        resource({}, { gateway: { port: 1, tls: false, verify } as never }),
        'default',
        unasked,
      );
      assert.ok(verdict.kind === 'act');
      assert.deepEqual(verdict.intent.verification, expected);
      assert.equal('verification' in verdict.intent, expected !== undefined);
    }
  });
});

test('a profile inherits the defaults key by key', () => {
  const defaults = {
    excludePatterns: ['*.bak'],
    vars: { a: '1', b: '1' },
    syncPeriod: 60,
    dryRun: true,
    drift: 'report' as const,
  };
  const profile = { mappings: [mapping], vars: { b: '2' }, dryRun: false, prune: false, groupWrite: true } as never;
  assert.deepEqual(resolveProfile({ defaults, profiles: { x: profile } }, 'x'), {
    ...defaultProfile('x', [mapping]),
    excludePatterns: ['*.bak'],
    vars: { a: '1', b: '2' },
    syncPeriod: 60,
    dryRun: false,
    drift: 'report',
    prune: false,
    groupWrite: true,
  });
});

suite('the settings of reload requests', () => {
  test('limit each call by its own timeout, then that of the reload, then 10 s', () => {
    const request = { method: 'POST', path: '/x' };
    const timesOf = (reload: object) => {
      const { timeoutMs, requests } = reloadSettings(withGateway(reload).spec);
      return [timeoutMs, ...requests.map((call) => call.timeoutMs)];
    };
    assert.deepEqual(timesOf({ requests: [request] }), [10_000, 10_000]);
    assert.deepEqual(
      timesOf({ timeout: '1m30s', requests: [request, { ...request, timeout: '2s' }] }),
      [90_000, 90_000, 2_000],
    );
  });

  test('contain the normalized path of the touch file', () => {
    assert.equal(reloadSettings(withGateway({ touchFile: './a//b' }).spec).touchFile, 'a/b');
    assert.equal(reloadSettings(withGateway({}).spec).touchFile, undefined);
  });
});

test('if the profile is missing, the defaults still decide how a gateway starts', () => {
  const sync = syncOf({ other: { mappings: [mapping] } }, { startPolicy: 'useLastGood' });
  const verdict = judgeResource(resource({}, { sync }), 'default', unasked);
  assert.ok(verdict.kind === 'refused' && verdict.startPolicy === 'useLastGood');
});
