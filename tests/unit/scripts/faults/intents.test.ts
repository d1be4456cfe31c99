import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APART_MS, Intents } from '../../../../scripts/faults/intents.ts';

const later = APART_MS + 1;

test('the newest stored intent must be followed', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).stored(10);
  intents.begin('v2', 10 + later).stored(20 + later);
  assert.deepEqual(intents.possible(), ['v2']);
});

test('either of two indistinguishable intents can be followed', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).stored(10);
  intents.begin('v2', 20).stored(30);
  assert.deepEqual(intents.possible(), ['v1', 'v2']);
});

test('an intent without a response can be followed or not, even if it began before the last one', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0);
  intents.begin('v2', later).stored(later);
  assert.deepEqual(intents.possible(), ['v1', 'v2']);
});

test('an intent with an unclear response counts as possibly stored, unless a newer one is stored', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).unknown(10);
  assert.deepEqual(intents.possible(), ['main', 'v1']);
  intents.begin('v2', 10 + later).stored(20 + later);
  assert.deepEqual(intents.possible(), ['v2']);
});

test('a rejected intent changes nothing', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0).refused();
  assert.deepEqual(intents.possible(), ['main']);
});

test('the ref that is followed after a pause is the start of the next part', () => {
  const intents = new Intents('main');
  intents.begin('v1', 0);
  intents.settle('v1');
  assert.deepEqual(intents.possible(), ['v1']);
});

test('intents from before a pause are possible again once the status is wiped', () => {
  const intents = new Intents('main');
  intents.begin('v1', 10 + later).stored(10 + later);
  intents.begin('v2', 20 + later).stored(20 + later);
  intents.settle('v2');
  intents.forgetOrder('main');
  assert.deepEqual(intents.possible(), ['v2', 'v1', 'main']);
  intents.begin('v3', 90 + 3 * later).stored(90 + 3 * later);
  assert.deepEqual(intents.possible(), ['v3']);
});
