import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Turns } from '../../../../../shared/domain/limits/turns.ts';

/** Waiting for the sake of those that the first letter names. */
function waiting(...items: string[]): Turns<string> {
  const turns = new Turns<string>();
  for (const item of items) turns.add(item[0] as string, item);
  return turns;
}

function allOf(turns: Turns<string>): string[] {
  const taken: string[] = [];
  for (let next = turns.take(); next; next = turns.take()) taken.push(next.item);
  return taken;
}

suite('the turns of parties', () => {
  test('rotate in the order of arrival', () => {
    assert.deepEqual(allOf(waiting('a1', 'a2', 'a3', 'b1', 'c1', 'c2')), ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  test("skip parties that aren't admitted, which keep their turn", () => {
    const turns = waiting('a1', 'b1', 'b2');
    assert.equal(turns.take((party) => party !== 'a')?.item, 'b1');
    assert.deepEqual(allOf(turns), ['a1', 'b2']);
  });

  test('end for all parties once a shared item is taken', () => {
    const turns = waiting('a1', 'b1');
    turns.add('b', 'a1');
    turns.add('a', 'a1');
    assert.deepEqual(turns.size, 2);
    assert.deepEqual(allOf(turns), ['a1', 'b1']);
    assert.deepEqual([turns.isEmpty, turns.size], [true, 0]);
  });
});
