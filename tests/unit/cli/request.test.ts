import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { followedRef, openRequest } from '../../../cli/fleet/request.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { gatewaySyncOf } from '../../support/objects.ts';

const EARLY = '2026-01-01T00:00:00.000Z';
const LATE = '2026-01-02T00:00:00.000Z';
const target = { ref: 'v1', source: 'Request' } as const;
const seen = { observedRef: 'main', observedRepo: 'https://git.test/x' };

suite('what is followed', () => {
  const rows: [what: string, status: GatewaySyncStatus | undefined, ref: string][] = [
    ['nobody has looked at it', undefined, 'main'],
    ['it was asked for', { ...seen, target, targetTime: EARLY }, 'v1'],
    ['it was asked for after the last edit', { ...seen, target, targetTime: LATE, observedRefTime: EARLY }, 'v1'],
    [
      'an edit came later and is not resolved yet',
      { ...seen, target, targetTime: EARLY, observedRefTime: LATE },
      'main',
    ],
    ['an edit was not seen yet', { ...seen, observedRef: 'next', target, targetTime: LATE }, 'main'],
    ['the repository was edited', { ...seen, observedRepo: 'y', target, targetTime: LATE }, 'main'],
    ['the spec was followed before an edit', { ...seen, target: { ref: 'v1', source: 'Spec' } }, 'main'],
  ];
  for (const [what, status, ref] of rows) {
    test(`where ${what}`, () => {
      const gatewaySync = gatewaySyncOf({ status });
      assert.equal(followedRef(gatewaySync), ref);
    });
  }
});

suite('a request is open', () => {
  const annotations = {
    'sync.io/requested-ref': 'next',
    'sync.io/requested-at': EARLY,
    'sync.io/requested-by': 'github',
    'sync.io/request-id': '1',
  };
  const handled = { ref: 'next', at: EARLY, by: 'github', id: '1', outcome: 'Applied' } as const;
  const rows: [
    what: string,
    given: Record<string, string>,
    lastRequest: GatewaySyncStatus['lastRequest'],
    isOpen: boolean,
  ][] = [
    ['not where there is none', {}, undefined, false],
    ['until it is seen', annotations, undefined, true],
    ['while the host is asked', annotations, { ...handled, outcome: 'Pending' }, true],
    ['not once it is handled', annotations, handled, false],
    ['where the last one was for something else', annotations, { ...handled, ref: 'main' }, true],
    ['where it is made again', annotations, { ...handled, id: '0' }, true],
    [
      'not where somebody who set the ref alone was heard',
      annotations,
      { ref: 'next', at: EARLY, by: 'manual', outcome: 'Applied' },
      false,
    ],
  ];
  for (const [what, given, lastRequest, isOpen] of rows) {
    test(what, () => {
      const gatewaySync = gatewaySyncOf({ metadata: { annotations: given }, status: { lastRequest } });
      assert.equal(openRequest(gatewaySync) !== undefined, isOpen);
    });
  }
});
