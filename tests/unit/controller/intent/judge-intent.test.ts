import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Intent } from '../../../../controller/intent/choose-intent.ts';
import { judgeIntent } from '../../../../controller/intent/judge-intent.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import { assertLinear } from '../../../support/assert-linear.ts';

const commit = '0'.repeat(40);

/** What becomes of a push to a branch that the host has. */
function outcomeOf(branch: string, allowedRefs: string[]): string | undefined {
  const gatewaySync = { spec: { git: { ref: 'main' }, webhook: { allowedRefs } } } as ObservedGatewaySync;
  const intent = { fallback: { ref: 'main', source: 'Spec' }, push: { ref: branch } } as Intent;
  return judgeIntent(gatewaySync, intent, new Map([[branch, commit]])).lastPush?.outcome;
}

suite('a push', () => {
  const cases: [branch: string, allowedRefs: string[], outcome: string][] = [
    ['refs/heads/dev', [], 'Ignored'],
    ['refs/heads/dev', ['dev'], 'Applied'],
    ['refs/heads/dev', ['v*', 'refs/heads/d*'], 'Applied'],
    ['refs/heads/dev/x', ['dev*'], 'Ignored'],
    ['refs/heads/dev/x', ['dev/**'], 'Applied'],
    ['refs/heads/2', ['[!0-1]'], 'Applied'],
    ['refs/heads/1', ['[!0-1]'], 'Ignored'],
    ['refs/heads/dev', [''], 'Ignored'],
    ['refs/heads/dev', ['!main'], 'Ignored'],
  ];
  for (const [branch, allowedRefs, outcome] of cases) {
    test(`to ${branch} is ${outcome} where ${JSON.stringify(allowedRefs)} is allowed`, () => {
      assert.equal(outcomeOf(branch, allowedRefs), outcome);
    });
  }

  for (const glob of [`${'*a'.repeat(100)}*b`, `${'**/*a'.repeat(40)}*b`, `{${'*a*,'.repeat(60)}}b`]) {
    test(`is judged in time in proportion to its ref: ${glob.slice(0, 10)}…`, () => {
      const allowedRefs = [glob, `${glob}c`];
      const make = (size: number) => `refs/heads/${'a'.repeat(size)}`;
      assertLinear(10 * BOUNDS.ref, make, (branch) => assert.equal(outcomeOf(branch, allowedRefs), 'Ignored'));
    });
  }
});
