import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer } from '../../../../controller/intent/resolution.ts';
import { decide, type Observation } from '../../../../controller/reconcile/decide.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

const commit = 'a'.repeat(40);
const now = Date.parse('2026-01-01T00:00:00Z');

/** A resource at rest on a commit, with or without polling. */
function observed({ polling = true }: { polling?: boolean } = {}): ObservedGatewaySync {
  return {
    ...{ namespace: 'ns', name: 'app', uid: 'uid', generation: 1, resourceVersion: '1', createdAt: 0, deleting: false },
    spec: gatewaySpec({ polling: { enabled: polling } }),
    status: {
      observedGeneration: 1,
      observedRef: 'main',
      target: { ref: 'main', source: 'Spec' },
      lastSyncCommit: commit,
      conditions: [
        {
          type: 'RefResolved',
          status: 'True',
          reason: 'Resolved',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  };
}

function decideFor(gatewaySync: ObservedGatewaySync, answer: Answer, rest: Partial<Observation> = {}) {
  const intent = { fallback: { ref: 'main', source: 'Spec' as const }, edited: false };
  const observation = { gatewaySync, intent, answer, pods: [], missing: [], reportOf: () => undefined };
  return decide({ ...observation, accessProblems: [], ...rest }, now);
}

const refs: Answer = { kind: 'refs', refs: new Map([['refs/heads/main', commit]]) };
const unreachable: Answer = {
  kind: 'error',
  error: new TransientError('the host is unreachable', { code: 'git.unreachable', reason: 'GitUnreachable' }),
  lastGood: undefined,
  retryAfterMs: 5_000,
};

suite('a host that is unavailable', () => {
  test('is asked again by the next poll', () => {
    assert.equal(decideFor(observed(), unreachable).retryAfterMs, undefined);
  });

  test('is asked again also where nothing is polled', () => {
    assert.equal(decideFor(observed({ polling: false }), unreachable).retryAfterMs, 5_000);
  });
});

suite('agents that do not get what they need', () => {
  const accessProblems = [{ reason: 'ForeignRoleBinding', message: 'it was made by somebody else' }];
  const pod = {
    ...{ namespace: 'ns', name: 'gateway-0', uid: 'pod', crName: 'app', gatewayName: 'edge', profile: 'default' },
    ...{ serviceAccountName: 'default', sidecar: 'present' as const, live: true },
  };
  const reasonsOf = (rest: Partial<Observation>) => {
    const { status, transitions } = decideFor(observed(), refs, rest);
    const find = (type: string) => status.conditions?.find((condition) => condition.type === type);
    return {
      access: find('AgentAccess')?.reason,
      ready: `${find('Ready')?.status} ${find('Ready')?.reason}`,
      events: transitions.map(({ reason }) => reason),
    };
  };

  test('make one condition and one event, and gateways that wait for it are not ready', () => {
    assert.deepEqual(reasonsOf({ accessProblems, pods: [pod] }), {
      access: 'ForeignRoleBinding',
      ready: 'False ForeignRoleBinding',
      events: ['ForeignRoleBinding'],
    });
  });

  test('do no harm to what is ready all the same', () => {
    const report = { namespace: 'ns', name: 'gateway-0', podUID: 'pod', status: { state: 'Synced' as const, commit } };
    assert.deepEqual(reasonsOf({ accessProblems, pods: [pod], reportOf: () => report }), {
      access: 'ForeignRoleBinding',
      ready: 'True Synced',
      events: ['ForeignRoleBinding', 'Synced'],
    });
  });

  test('are not mentioned otherwise', () => {
    assert.equal(reasonsOf({ pods: [pod] }).access, undefined);
  });
});

suite('an ssh host whose key is not checked', () => {
  const sshKey = { secretRef: { name: 'ssh', key: 'key' }, insecureIgnoreHostKey: true };
  const spec = gatewaySpec({ git: { repo: 'git@git.test:app', ref: 'main', auth: { sshKey } } });

  test('makes a condition and one event, and is no reason not to be ready', () => {
    const first = decideFor({ ...observed(), spec }, refs);
    const stateOf = (type: string) => {
      const { status, reason } = first.status.conditions?.find((condition) => condition.type === type) ?? {};
      return `${status} ${reason}`;
    };
    assert.equal(stateOf('SSHHostKeyVerification'), 'False InsecureIgnoreHostKey');
    assert.equal(stateOf('Ready'), 'True NoGateways');
    assert.deepEqual(
      first.transitions.map(({ type, reason }) => `${type} ${reason}`),
      ['Warning InsecureIgnoreHostKey'],
    );
    assert.deepEqual(decideFor({ ...observed(), spec, status: first.status }, refs).transitions, []);
  });
});
