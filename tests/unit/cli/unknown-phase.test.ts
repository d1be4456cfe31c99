import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resourceView } from '../../../cli/fleet/fleet.ts';
import { planOfPreview } from '../../../cli/fleet/plan.ts';
import { isWaitOver, plannableCommit } from '../../../cli/fleet/plan-candidate.ts';
import { detailOf } from '../../../cli/ui/views.ts';
import { drawResource } from '../../../cli/views/draw-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import { changing, NEW, OLD, planned, unchanged } from '../../support/planned-fleet.ts';
import { hostOf } from './host-of.ts';

const LATER = { phase: 'Rehearsing', waitsFor: 'Rehearsal', commit: NEW, nextCommit: undefined };
const later = (rollout: object = {}) => {
  const fleet = planned([changing('a', ['modify x']), unchanged('b')], {
    rollout: { ...LATER, ...rollout } as unknown as Partial<RolloutStatus>,
  });
  const reason = { type: 'Ready', status: 'False' as const, reason: 'Rehearsed', message: 'it rehearses' };
  const condition = { ...reason, lastTransitionTime: '2026-01-01T00:00:00Z' };
  return {
    ...fleet,
    gatewaySync: {
      ...fleet.gatewaySync,
      status: {
        ...fleet.gatewaySync.status,
        conditions: [condition],
        observedGeneration: fleet.gatewaySync.metadata.generation,
      },
    },
  };
};

suite('a phase and a reason of a newer version', () => {
  test('are shown by status and the page, with all gateways', () => {
    const { gatewaySync, beyond } = later();
    const view = resourceView(gatewaySync, beyond);
    assert.deepEqual([view.reason, view.rollout?.phase, view.gateways.length], ['Rehearsed', 'Rehearsing', 2]);
    assert.match(drawResource(view, hostOf(100)).join('\n'), /it rehearses/);
    const { detail, gateways } = detailOf(gatewaySync, beyond);
    assert.deepEqual([detail.rollout?.phase, gateways.length], ['Rehearsing', 2]);
    assert.match(detail.plan?.says ?? '', / 1 of 2 gateways/);
  });

  test('do not prevent a plan', () => {
    const { gatewaySync, preview, beyond } = later();
    assert.equal(planOfPreview(gatewaySync, preview, beyond).counts.changed, 1);
    assert.equal(isWaitOver(gatewaySync, NEW), true);
    const { gatewaySync: without } = later({ preview: undefined });
    assert.match(JSON.stringify(plannableCommit(without)), /"unavailable".*\bbbbbbbbb\b/);
    assert.match(JSON.stringify(plannableCommit(without, OLD)), /"settled".*\baaaaaaaa\b/);
  });
});
