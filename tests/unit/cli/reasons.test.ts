import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { checkConditions } from '../../../cli/checks/check-conditions.ts';
import { pageOfReason, todoOf } from '../../../cli/checks/reasons.ts';
import type { Condition } from '../../../shared/api/gateway-sync-status.ts';
import { gatewaySyncOf } from '../../support/objects.ts';

const checkout = path.join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(path.join(checkout, file), 'utf8');
const wordsIn = (text: string) => [...text.matchAll(/`([A-Z]\w+)`/g)].map(([, word = '']) => word);

/** A row of the page: reasons, types, heading, and whether it has a remedy. */
interface Row {
  anchor: string;
  types: string[];
  reasons: string[];
  hasTodo: boolean;
}

function rowsOfPage(): Row[] {
  const rows: Row[] = [];
  let anchor = '';
  for (const line of read('docs/reference/conditions.md').split('\n')) {
    const [, heading] = /^#+ (.*)$/.exec(line) ?? [];
    if (heading) anchor = heading.toLowerCase().replaceAll(' ', '-');
    const [, types, reasons, todo = ''] = /^\| (`[^|]+) \| ([^|]+) \| [^|]* \|(?: ([^|]*) \||\s*\|)?$/.exec(line) ?? [];
    if (types === undefined || reasons === undefined) continue;
    rows.push({ anchor, types: wordsIn(types), reasons: wordsIn(reasons), hasTodo: todo.trim() !== '' });
  }
  return rows;
}

const SUMS = ['Ready', 'Stalled'];
const condition = (type: string, reason: string, status: Condition['status']): Condition => ({
  ...({ type, reason, status } as const),
  message: 'in words',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const gatewaySync = (conditions: Condition[]) => gatewaySyncOf({ status: { conditions } });

suite('the reasons in docs/reference/conditions.md', () => {
  const rows = rowsOfPage();

  test('have the page and heading that the plugin links to', () => {
    assert.ok(rows.length > 50, `${rows.length}`);
    for (const { anchor, types, reasons } of rows)
      for (const type of types.filter((each) => !SUMS.includes(each) || types.length === 1))
        for (const reason of reasons) assert.equal(pageOfReason(type, reason), `reference/conditions.md#${anchor}`);
  });

  test('have a suggestion in the plugin if the page has one', () => {
    for (const { types, reasons, hasTodo } of rows) {
      if (!hasTodo || types.includes('Stalled')) continue;
      for (const reason of reasons) assert.ok(todoOf(reason), reason);
    }
  });

  test('give one finding each with a link to the page, if False or Unknown', () => {
    for (const { anchor, types, reasons } of rows) {
      for (const reason of reasons) {
        const [type = ''] = types.filter((each) => each !== 'Ready' || types.length === 1);
        if (type === 'Stalled') continue;
        for (const status of ['False', 'Unknown'] as const) {
          const [finding, ...others] = checkConditions(gatewaySync([condition(type, reason, status)]));
          assert.deepEqual(others, []);
          assert.ok(finding, `${type} ${reason}`);
          assert.notEqual(finding.level, 'ok', `${type} ${reason}`);
          assert.equal(finding.page, `reference/conditions.md#${anchor}`);
          assert.match(finding.says, new RegExp(`^${type} has the reason ${reason}: in words$`));
        }
      }
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
