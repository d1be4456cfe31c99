import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PriorityTurns } from '../../../../../shared/domain/limits/priority-turns.ts';

function taken(turns: PriorityTurns<string>): string[] {
  const items: string[] = [];
  for (let next = turns.take(() => true); next; next = turns.take(() => true)) items.push(next.item);
  return items;
}

it('turns go to high priority first, and to low priority after seven in a row', () => {
  const turns = new PriorityTurns<string>();
  for (const item of ['low 1', 'low 2']) turns.add('a', item, 'low');
  for (let number = 1; number <= 9; number += 1) turns.add('a', `high ${number}`, 'high');
  const sevenHigh = Array.from({ length: 7 }, (_, index) => `high ${index + 1}`);
  assert.deepEqual(taken(turns), [...sevenHigh, 'low 1', 'high 8', 'high 9', 'low 2']);
  assert.equal(turns.isEmpty, true);
});

it('turns take an item once, with the higher of its priorities', () => {
  const turns = new PriorityTurns<string>();
  for (const item of ['a', 'b']) turns.add('party', item, 'low');
  turns.add('party', 'b', 'high');
  assert.deepEqual(
    turns.take(() => true),
    { item: 'b', priority: 'high' },
  );
  assert.deepEqual(taken(turns), ['a']);
});

it('turns go to low priority if no party with high priority is admitted', () => {
  const turns = new PriorityTurns<string>();
  turns.add('busy', 'a', 'high');
  turns.add('idle', 'b', 'low');
  assert.equal(turns.take((party) => party === 'idle')?.item, 'b');
  turns.delete('a');
  assert.equal(turns.isEmpty, true);
});
