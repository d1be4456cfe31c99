import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APART_MS, Intents } from '../../../../scripts/faults/intents.ts';

const later = APART_MS + 1;

test('the newest that was stored must be followed', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).stored(10);
  intents.begin('v2', 10 + later).stored(20 + later);
  assert.deepEqual(intents.possible(), ['v2']);
});

test('two that cannot be told apart may both be followed', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).stored(10);
  intents.begin('v2', 20).stored(30);
  assert.deepEqual(intents.possible(), ['v1', 'v2']);
});

test('one that was not answered may be followed or not, also if it began before the last one', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0);
  intents.begin('v2', later).stored(later);
  assert.deepEqual(intents.possible(), ['v1', 'v2']);
});

test('one that was answered otherwise may be stored, unless something newer is', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).unknown(10);
  assert.deepEqual(intents.possible(), ['main', 'v1']);
  intents.begin('v2', 10 + later).stored(20 + later);
  assert.deepEqual(intents.possible(), ['v2']);
});

test('one that was refused changes nothing', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).refused();
  assert.deepEqual(intents.possible(), ['main']);
});

test('what is followed after a pause is the beginning of the next part', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0);
  intents.settle('v1');
  assert.deepEqual(intents.possible(), ['v1']);
});

test('what could not be told apart before a pause is possible again once the status is wiped', () => {
  const intents = new Intents('main');
  intents.begin('v1', 10 + later).stored(10 + later);
  intents.begin('v2', 20 + later).stored(20 + later);
  intents.settle('v2');
  intents.forgetOrder();
  assert.deepEqual(intents.possible(), ['v2', 'v1']);
  intents.begin('v3', 90 + 3 * later).stored(90 + 3 * later);
  assert.deepEqual(intents.possible(), ['v3']);
});
