import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { chooseIntent } from '../../../../controller/intent/choose-intent.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';

const created = Date.parse('2026-01-01T00:00:00Z');
const at = (second: number) => new Date(created + second * 1000).toISOString();

interface Given {
  ref?: string;
  /** Second at which spec.git.ref was written. */
  refWritten?: number;
  request?: Partial<NonNullable<ObservedGatewaySync['request']>>;
  push?: ObservedGatewaySync['push'];
  status?: GatewaySyncStatus;
}

function observed({ ref = 'main', refWritten = 0, request, push, status = {} }: Given): ObservedGatewaySync {
  return {
    spec: { git: { repo: 'https://git.test/app.git', ref } },
    createdAt: created,
    refWrittenAt: created + refWritten * 1000,
    status,
    ...(request ? { request: { ref: 'v1', applied: false, ...request } } : {}),
    ...(push ? { push } : {}),
  } as ObservedGatewaySync;
}

const following = (ref: string, rest: GatewaySyncStatus = {}): GatewaySyncStatus => ({
  observedRef: 'main',
  target: { ref, source: ref === 'main' ? 'Spec' : 'Request' },
  ...rest,
});

const echo = { ref: 'v1', id: '1', at: at(10), outcome: 'Applied' as const };

const cases: { name: string; given: Given; follows: string; verdict: string | undefined }[] = [
  { name: 'nothing was asked for, nothing seen', given: {}, follows: 'main', verdict: undefined },
  { name: 'nothing new', given: { status: following('main') }, follows: 'main', verdict: undefined },
  {
    name: 'a request',
    given: { request: { id: '1', at: at(10) }, status: following('main') },
    follows: 'main',
    verdict: 'try',
  },
  {
    name: 'the request that was handled',
    given: { request: { id: '1', at: at(10) }, status: following('v1', { lastRequest: echo }) },
    follows: 'v1',
    verdict: undefined,
  },
  {
    name: 'the request that still waits',
    given: {
      request: { id: '1', at: at(10) },
      status: following('main', { lastRequest: { ...echo, outcome: 'Pending' } }),
    },
    follows: 'main',
    verdict: 'try',
  },
  {
    name: 'the same ref asked for again',
    given: { request: { id: '2', at: at(20) }, status: following('v1', { lastRequest: echo }) },
    follows: 'v1',
    verdict: 'try',
  },
  {
    name: 'another ref by hand, the other annotations left as they were',
    given: { request: { ref: 'v2', id: '1', at: at(10) }, status: following('v1', { lastRequest: echo }) },
    follows: 'v1',
    verdict: 'try',
  },
  {
    name: 'the annotations are gone',
    given: { status: following('v1', { lastRequest: echo }) },
    follows: 'v1',
    verdict: undefined,
  },
  {
    name: 'an edit after a request',
    given: { ref: 'next', status: following('v1', { lastRequest: echo }) },
    follows: 'next',
    verdict: undefined,
  },
  {
    name: 'an edit and an older request',
    given: { ref: 'next', refWritten: 20, request: { at: at(10) }, status: following('main') },
    follows: 'next',
    verdict: 'Superseded',
  },
  {
    name: 'an edit and a newer request',
    given: { ref: 'next', refWritten: 20, request: { at: at(30) }, status: following('main') },
    follows: 'next',
    verdict: 'try',
  },
  {
    name: 'an edit and a request without a time, stored later',
    given: { ref: 'next', refWritten: 20, request: { writtenAt: created + 30_000 }, status: following('main') },
    follows: 'next',
    verdict: 'try',
  },
  {
    name: 'a request older than the resource',
    given: { request: { at: at(-60) } },
    follows: 'main',
    verdict: 'Ignored',
  },
  {
    name: 'a request older than the resource, which was seen before',
    given: { request: { at: at(-60) }, status: following('main') },
    follows: 'main',
    verdict: 'try',
  },
  {
    name: 'a request made before the controller ever saw the resource',
    given: { request: { at: at(5) } },
    follows: 'main',
    verdict: 'try',
  },
  {
    name: 'a status that was wiped, and a request from before the edit of the ref',
    given: { ref: 'next', refWritten: 20, request: { at: at(10) } },
    follows: 'next',
    verdict: 'Superseded',
  },
  {
    name: 'a status that was wiped, and a request from after the edit of the ref',
    given: { ref: 'next', refWritten: 20, request: { at: at(30) } },
    follows: 'next',
    verdict: 'try',
  },
  {
    name: 'a request by hand in the second in which the resource was made',
    given: { request: { writtenAt: created } },
    follows: 'main',
    verdict: 'try',
  },
  {
    name: 'a request kept in a manifest',
    given: { request: { at: at(5), applied: true }, status: following('main') },
    follows: 'main',
    verdict: 'Ignored',
  },
  {
    name: 'a garbage time, judged by when it was stored',
    given: {
      ref: 'next',
      refWritten: 20,
      request: { at: 'soon', writtenAt: created + 10_000 },
      status: following('main'),
    },
    follows: 'next',
    verdict: 'Superseded',
  },
];

suite('the intent with', () => {
  for (const { name, given, follows, verdict } of cases) {
    test(name, () => {
      const { fallback, request } = chooseIntent(observed(given));
      assert.equal(fallback.ref, follows);
      const outcome = request?.verdict.kind === 'settled' ? request.verdict.outcome : request?.verdict.kind;
      assert.equal(outcome, verdict);
    });
  }

  test('a push is new until it is echoed, and again when it comes again', () => {
    const push = { ref: 'refs/heads/main', at: at(10) };
    assert.ok(chooseIntent(observed({ push, status: following('main') })).push);
    const done = following('main', { lastPush: { ...push, outcome: 'Applied' } });
    assert.equal(chooseIntent(observed({ push, status: done })).push, undefined);
    assert.ok(chooseIntent(observed({ push: { ...push, at: at(11) }, status: done })).push);
  });
});
