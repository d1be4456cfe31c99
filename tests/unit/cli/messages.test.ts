import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inCommands, withCommands } from '../../../cli/client/with-commands.ts';
import { shortHashes } from '../../../cli/fleet/messages.ts';
import { traceView } from '../../../cli/fleet/trace.ts';
import { gatewaySyncOf, rolloutStatusOf } from '../../support/objects.ts';

const COMMIT = '3f2a91bc'.repeat(5);

suite('a message of the controller', () => {
  const rows: [message: string, shown: string][] = [
    [
      `to retry 3f2a91bc, set sync.io/retry-rollout: ${COMMIT}, or push a new commit`,
      'to retry 3f2a91bc, run kubectl stoker retry plant, or push a new commit',
    ],
    [
      'until you set sync.io/rollback or sync.io/retry-rollout, or push a new commit',
      'until you run kubectl stoker rollback plant or kubectl stoker retry plant, or push a new commit',
    ],
    ['waiting; approve the SyncRelease plant-17', 'waiting; run kubectl stoker approve plant'],
    [
      'waiting; approve the SyncRelease plant.a-17; preview: 1. Others',
      'waiting; run kubectl stoker approve plant; preview: 1. Others',
    ],
    ['waiting; approve the SyncRelease plant-17.', 'waiting; run kubectl stoker approve plant.'],
    ['sync.io/rollback: plant-12 takes effect', 'kubectl stoker rollback plant --to plant-12 takes effect'],
    ['sync.io/rollback: previous had no effect', 'kubectl stoker rollback plant had no effect'],
    [`sync.io/retry-rollout: ${COMMIT} had no effect`, 'kubectl stoker retry plant had no effect'],
    ['annotate a pod with sync.io/inject: "true"', 'annotate a pod with sync.io/inject: "true"'],
    ['sync.io/rollback-by is missing', 'sync.io/rollback-by is missing'],
  ];
  for (const [message, shown] of rows)
    test(`names the command: ${message.slice(0, 60)}`, () => {
      assert.equal(inCommands(message, 'plant'), shown);
    });

  test('names the command in each part of the status', () => {
    const message = `failed before; to retry it, set sync.io/retry-rollout: ${COMMIT}`;
    const at = '2026-01-01T00:00:00Z';
    const request = { ref: 'main', at, outcome: 'Failed' as const, message };
    const given = gatewaySyncOf({
      status: {
        conditions: [{ type: 'RolledOut', status: 'False', reason: 'RolloutStopped', message, lastTransitionTime: at }],
        rollout: rolloutStatusOf({ message }),
        lastRequest: request,
        lastPush: request,
      },
    });
    const shown = withCommands(given);
    assert.equal(JSON.stringify(shown).match(/run kubectl stoker retry plant/g)?.length, 4);
    assert.doesNotMatch(JSON.stringify(shown), /sync\.io\/retry/);
    assert.match(JSON.stringify(traceView(shown, [])?.missing), /run kubectl stoker retry plant/);
    assert.equal(withCommands(gatewaySyncOf({})).status, undefined);
  });

  test('has short commits', () => {
    assert.equal(shortHashes(`from ${COMMIT} to ${'a'.repeat(64)}`), 'from 3f2a91bc to aaaaaaaa');
    assert.equal(shortHashes('c0ffee11 and a sha256:0123'), 'c0ffee11 and a sha256:0123');
  });
});
