import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slots } from '../../../../../shared/domain/limits/slots.ts';

test('parties take turns at slots, however many items of one wait', async () => {
  const slots = new Slots(2);
  const order: string[] = [];
  const use = (party: string, name: string) => slots.run(async () => void order.push(name), party);
  const busy = Array.from({ length: 100 }, (_, index) => use('busy', `busy-${index}`));
  await Promise.all([...busy, use('calm', 'calm'), use('quiet', 'quiet')]);
  assert.equal(order.length, 102);
  assert.ok(order.indexOf('calm') < 6 && order.indexOf('quiet') < 6, order.slice(0, 8).join());
});

test('a slot is free again after its user fails', async () => {
  const slots = new Slots(1);
  await assert.rejects(slots.run(() => Promise.reject(new Error('no'))));
  assert.equal(await slots.run(async () => 'used'), 'used');
});
