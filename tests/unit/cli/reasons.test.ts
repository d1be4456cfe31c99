import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { checkConditions } from '../../../cli/checks/check-conditions.ts';
import { pageOfReason, todoOf } from '../../../cli/checks/reasons.ts';
import type { Condition, ConditionType } from '../../../shared/api/gateway-sync-status.ts';
import { CONDITION_REASONS } from '../../../shared/api/reasons.ts';
import { gatewaySyncOf } from '../../support/objects.ts';

const condition = (type: string, reason: string, status: Condition['status']): Condition => ({
  type,
  reason,
  status,
  message: 'in words',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const gatewaySync = (conditions: Condition[]) => gatewaySyncOf({ status: { conditions } });

suite('a reason of a condition', () => {
  const types = {
    RefResolved: true,
    ProfilesValid: true,
    AllGatewaysSynced: true,
    SidecarInjected: true,
    SSHHostKeyVerification: true,
    AgentAccess: true,
    RolledOut: true,
    CommitStatus: true,
    WebhookSource: true,
    Ready: true,
    Stalled: true,
  } satisfies Record<ConditionType, true>;

  test('has a heading for its type on the page that the plugin links to', () => {
    const page = readFileSync(path.join(import.meta.dirname, '../../../docs/reference/conditions.md'), 'utf8');
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase());
    const pages: [type: string, reason: string, anchor: string][] = [
      ...Object.keys(types).map((type): [string, string, string] => [type, 'Other', type.toLowerCase()]),
      ['Ready', 'MissingSidecar', 'allgatewayssynced'],
      ['Ready', 'SecretNotFound', 'agentaccess'],
      ['AgentAccess', 'HostKeyVerificationFailed', 'refresolved'],
    ];
    for (const [type, reason, anchor] of pages) {
      assert.equal(pageOfReason(type, reason), `reference/conditions.md#${anchor}`);
      assert.ok(anchors.includes(anchor), anchor);
    }
  });

  test('has a remedy unless all is well', () => {
    const without = CONDITION_REASONS.filter((reason) => todoOf(reason) === undefined);
    const well = ['Granted', 'HubFound', 'Injected', 'KnownHosts', 'PinnedCommit', 'Resolved', 'Synced', 'Valid'];
    assert.deepEqual(without.toSorted(), [...well, 'Pending', 'Posting'].toSorted());
    assert.equal(todoOf('RolloutStopped'), todoOf('Stopped'));
    assert.equal(todoOf('toString'), undefined);
  });

  test('is a finding if the condition is False or Unknown', () => {
    for (const status of ['False', 'Unknown'] as const) {
      const [finding, ...others] = checkConditions(gatewaySync([condition('RefResolved', 'RefNotFound', status)]));
      assert.deepEqual([others, finding?.check], [[], 'conditions/RefResolved/RefNotFound']);
      assert.match(finding?.says ?? '', /: in words$/);
    }
  });
});

suite('the conditions of a GatewaySync', () => {
  const levels = (...conditions: Condition[]) =>
    checkConditions(gatewaySync(conditions)).map(({ check, level }) => `${check} ${level}`);

  test("that summarize others aren't reported twice", () => {
    const rows: [Condition[], string[]][] = [
      [
        [condition('RefResolved', 'RefNotFound', 'False'), condition('Ready', 'RefNotFound', 'False')],
        ['conditions/RefResolved/RefNotFound failed'],
      ],
      [
        [
          condition('RolledOut', 'Stopped', 'False'),
          condition('Ready', 'RolloutStopped', 'False'),
          condition('Stalled', 'RolloutStopped', 'True'),
        ],
        ['conditions/RolledOut/Stopped failed'],
      ],
      [[condition('Ready', 'SecretNotFound', 'False')], ['conditions/Ready/SecretNotFound failed']],
      [[condition('Ready', 'Synced', 'True')], ['conditions/Ready ok']],
    ];
    for (const [given, expected] of rows) assert.deepEqual(levels(...given), expected);
  });

  test('can be True and still give a finding', () => {
    const ready = condition('Ready', 'Synced', 'True');
    assert.deepEqual(levels(ready, condition('RefResolved', 'AmbiguousRef', 'True')), [
      'conditions/RefResolved/AmbiguousRef warning',
    ]);
    assert.deepEqual(levels(ready, condition('RefResolved', 'GitUnreachable', 'True')), [
      'conditions/RefResolved/GitUnreachable failed',
    ]);
    assert.deepEqual(levels(ready, condition('SSHHostKeyVerification', 'InsecureIgnoreHostKey', 'False')), [
      'conditions/SSHHostKeyVerification/InsecureIgnoreHostKey warning',
    ]);
  });
});
