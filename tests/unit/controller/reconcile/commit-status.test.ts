import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { PostState } from '../../../../controller/commit-status/next-post.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { CommitStatusRecord } from '../../../../shared/api/gateway-sync-status.ts';
import { conditionOf } from '../../../../shared/domain/kubernetes/condition-of.ts';
import { commit, resource } from '../commit-status/resource.ts';
import { decideFor as decide } from '../support/requested-resource.ts';

const posted: CommitStatusRecord = {
  commit,
  context: 'oslo/gateways/plant',
  state: 'success',
  posts: 2,
  time: '2026-01-01T00:00:00Z',
};
const problem = { reason: 'AuthenticationFailed', message: 'the host refused the token' } as const;

const found = { kind: 'refs' as const, refs: new Map([['refs/heads/main', commit]]) };
const decideFor = (gatewaySync: ObservedGatewaySync, commitStatus?: PostState, cluster = 'oslo') =>
  decide(gatewaySync, { query: found, commitStatus, cluster, now: Date.parse('2026-01-02T00:00:00Z') });

const without = () => {
  const { spec, ...rest } = resource();
  const { commitStatus: _, ...git } = spec.git;
  return { ...rest, spec: { ...spec, git } };
};

suite('a decision about a commit status', () => {
  test('adds nothing to the status of a resource without one, and removes a previous one', () => {
    const { status, commitStatus } = decideFor(without());
    assert.equal(commitStatus, undefined);
    assert.ok(!JSON.stringify(status).includes('ommitStatus'));
    const dropped = decideFor({ ...without(), status: { ...status, commitStatus: posted } });
    assert.equal(JSON.stringify(dropped.status), JSON.stringify(status));
  });

  test('requests one for the commit that was just found', () => {
    const { commitStatus } = decideFor(resource());
    assert.partialDeepStrictEqual(commitStatus?.status, { commit, state: 'pending', ref: 'main' });
    assert.equal(commitStatus?.destination.context, 'oslo/gateways/plant');
  });

  test('records a posted one, and keeps it', () => {
    const { status } = decideFor(resource(), { posted, problem: undefined });
    assert.deepEqual(status.commitStatus, posted);
    assert.deepEqual(decideFor({ ...resource(), status }).status.commitStatus, posted);
  });

  test('reports a problem outside of Ready, and once, even after a restart', () => {
    const { status, transitions } = decideFor(resource(), { posted: undefined, problem });
    const said = conditionOf(status.conditions, 'CommitStatus');
    assert.deepEqual([said?.status, said?.reason, said?.message], ['False', problem.reason, problem.message]);
    assert.equal(conditionOf(status.conditions, 'Ready')?.reason, 'NoGateways');
    assert.equal(transitions.filter(({ reason }) => reason === problem.reason).length, 1);
    for (const news of [undefined, { posted: undefined, problem: 'unknown' as const }]) {
      const again = decideFor({ ...resource(), status }, news);
      assert.deepEqual(conditionOf(again.status.conditions, 'CommitStatus'), said);
      assert.deepEqual(again.transitions, []);
    }
    const over = decideFor({ ...resource(), status }, { posted, problem: undefined });
    assert.equal(conditionOf(over.status.conditions, 'CommitStatus')?.status, 'True');
  });

  test('is a problem if there is no destination, and requests none', () => {
    const { status, commitStatus } = decideFor(resource(), undefined, '');
    assert.equal(conditionOf(status.conditions, 'CommitStatus')?.reason, 'ClusterNameMissing');
    assert.equal(commitStatus, undefined);
  });
});
