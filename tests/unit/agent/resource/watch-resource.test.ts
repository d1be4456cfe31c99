import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectResource } from '../../../../agent/resource/watch-resource.ts';
import { gatewaySyncOf, rolloutStatusOf } from '../../../support/objects.ts';

test('the agent keeps the condition of the ref, and a question of limited length', () => {
  const known = { reason: 'Any', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const condition = (type: 'Ready' | 'RefResolved', status: 'True' | 'False') => ({
    ...known,
    type,
    status,
    message: type,
  });
  const asks = (inspect: string) => ({ metadata: { annotations: { 'sync.io/inspect': inspect } } });
  const status = { conditions: [condition('Ready', 'True'), condition('RefResolved', 'False')] };
  const { refResolved } = projectResource(gatewaySyncOf({ status }));
  assert.deepEqual(refResolved, { status: 'False', message: 'RefResolved' });
  const lengths = [1, 1_000_000].map(
    (length) => projectResource(gatewaySyncOf(asks('x'.repeat(length)))).inspect?.length,
  );
  assert.deepEqual(lengths, [1, undefined]);
});

test('the agent keeps the commits for rollbacks and retries, each once, and only commits', () => {
  const [stable, older, next] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];
  const rolloutStatus = rolloutStatusOf({
    stableCommit: stable,
    earlierCommits: [older, stable, '--upload-pack=x'],
    commit: next,
  });
  const status = { rollout: rolloutStatus };
  const { rollout } = projectResource(gatewaySyncOf({ spec: { rollout: {} }, status }));
  assert.deepEqual([rollout?.earlier, rollout?.waves], [[stable, older, next], []]);
  assert.deepEqual(projectResource(gatewaySyncOf({ spec: { rollout: {} } })).rollout?.earlier, []);
});
