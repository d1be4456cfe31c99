import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { followedRef, openRequest } from '../../../cli/fleet/request.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import { requestIn } from '../../../shared/domain/kubernetes/recorded-request.ts';
import { gatewaySyncOf } from '../../support/objects.ts';

const EARLY = '2026-01-01T00:00:00.000Z';
const LATE = '2026-01-02T00:00:00.000Z';
const target = { ref: 'v1', source: 'Request' } as const;
const seen = { observedRef: 'main', observedRepo: 'https://git.test/app.git' };

suite('the followed ref', () => {
  const rows: [what: string, status: GatewaySyncStatus | undefined, ref: string][] = [
    ["the controller hasn't seen the resource", undefined, 'main'],
    ['it was requested', { ...seen, target, targetTime: EARLY }, 'v1'],
    ['it was requested after the last edit', { ...seen, target, targetTime: LATE, observedRefTime: EARLY }, 'v1'],
    ["a later edit isn't resolved yet", { ...seen, target, targetTime: EARLY, observedRefTime: LATE }, 'main'],
    ["the controller hasn't seen an edit", { ...seen, observedRef: 'next', target, targetTime: LATE }, 'main'],
    ['the repository was edited', { ...seen, observedRepo: 'y', target, targetTime: LATE }, 'main'],
    ['the spec was followed before an edit', { ...seen, target: { ref: 'v1', source: 'Spec' } }, 'main'],
  ];
  for (const [what, status, ref] of rows) {
    test(`is ${ref} if ${what}`, () => {
      const gatewaySync = gatewaySyncOf({ status });
      assert.equal(followedRef(gatewaySync), ref);
    });
  }
});

suite('a request', () => {
  const annotations = {
    'sync.io/requested-ref': 'next',
    'sync.io/requested-at': EARLY,
    'sync.io/requested-by': 'github',
    'sync.io/request-id': '1',
  };
  const handled = { ref: 'next', at: EARLY, by: 'github', id: '1', outcome: 'Applied' } as const;
  const { requestId } = REQUEST_ANNOTATIONS;
  const long = { ...annotations, [requestId]: 'i'.repeat(200) };
  const handledOf = (given: Record<string, string>) => ({ ref: '', ...requestIn(given), outcome: 'Applied' }) as const;
  const rows: [
    what: string,
    given: Record<string, string>,
    lastRequest: GatewaySyncStatus['lastRequest'],
    isOpen: boolean,
  ][] = [
    ['without annotations', {}, undefined, false],
    ['until the controller has seen it', annotations, undefined, true],
    ['during the query', annotations, { ...handled, outcome: 'Pending' }, true],
    ['once it is handled', annotations, handled, false],
    ['if the last one was for another ref', annotations, { ...handled, ref: 'main' }, true],
    ['once it is handled, with an ID that is longer than in the status', long, handledOf(long), false],
    [
      'if it is repeated with an ID that differs at its end',
      { ...long, [requestId]: 'i'.repeat(300) },
      handledOf(long),
      true,
    ],
    ['if it is repeated', annotations, { ...handled, id: '0' }, true],
    [
      'if a request was handled of which a user had edited the ref',
      annotations,
      { ref: 'next', at: EARLY, by: 'manual', id: '1', outcome: 'Applied' },
      false,
    ],
  ];
  for (const [what, given, lastRequest, isOpen] of rows) {
    test(`${isOpen ? 'is open' : "isn't open"} ${what}`, () => {
      const gatewaySync = gatewaySyncOf({ metadata: { annotations: given }, status: { lastRequest } });
      assert.equal(openRequest(gatewaySync) !== undefined, isOpen);
    });
  }
});
