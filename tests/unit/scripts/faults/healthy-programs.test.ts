import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { healthyPrograms } from '../../../../scripts/faults/invariants/healthy-programs.ts';
import type { ProgramEnd } from '../../../../scripts/faults/world/managed-program.ts';
import { LIMIT_KB } from '../../../../scripts/testbed/memory-limit.ts';

const lost = '{"level":"error","program":"controller","msg":"the lease was lost: starting over"}';
const thrown = `TypeError: Cannot read properties of undefined (reading 'address')
    at handle (file:///app/dist/controller.mjs:1:2)

Node.js v26.0.0`;

function worldOf(kind: 'controller' | 'receiver', { ends = [], peakKb = 0 }: { ends?: ProgramEnd[]; peakKb?: number }) {
  const program = { name: `${kind}-0`, ends, peakKb, measure: () => {} };
  return { controllers: kind === 'controller' ? [program] : [], programs: () => [program] };
}

const endOf = (status: number, log: string) => ({ ends: [{ what: `it ended with status ${status}`, log }] });

suite('the check for healthy programs', () => {
  test('reports a program that exceeds its memory limit', () => {
    assert.deepEqual(healthyPrograms(worldOf('receiver', { peakKb: LIMIT_KB })), []);
    assert.equal(healthyPrograms(worldOf('receiver', { peakKb: LIMIT_KB + 1 })).length, 1);
  });

  test('lets only a controller exit by itself, if it lost its Lease', () => {
    assert.deepEqual(healthyPrograms(worldOf('controller', endOf(1, lost))), []);
    assert.equal(healthyPrograms(worldOf('receiver', endOf(1, lost))).length, 1);
  });

  test('reports an exception, even if the program lost a Lease earlier and exits with the same status', () => {
    assert.match(healthyPrograms(worldOf('controller', endOf(1, thrown))).join(), /TypeError/);
    assert.equal(healthyPrograms(worldOf('controller', endOf(1, `${lost}\n${thrown}`))).length, 1);
  });

  test('shows the whole uncaught error, but no line of the bundle', () => {
    const stack = `TypeError: ${'x'.repeat(1_000)}\\n    at the end`;
    const log = `${'y'.repeat(1_000)}\n{"level":"fatal","stack":"${stack}"}`;
    const [words = ''] = healthyPrograms(worldOf('receiver', endOf(1, log)));
    assert.ok(
      words.includes(stack) && words.includes(`${'y'.repeat(300)}…`) && !words.includes('y'.repeat(301)),
      words,
    );
  });

  test('reports any other exit status, whatever the program logged', () => {
    assert.equal(healthyPrograms(worldOf('controller', endOf(134, lost))).length, 1);
    assert.equal(healthyPrograms(worldOf('controller', endOf(11, lost))).length, 1);
  });
});
