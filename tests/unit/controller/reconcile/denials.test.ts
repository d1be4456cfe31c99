import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Denials } from '../../../../controller/reconcile/denials.ts';
import type { Transition } from '../../../../controller/reconcile/status-transitions.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';

/** Denials of a replica, and the recorded events: `about: message`. */
function arrange() {
  const events: string[] = [];
  const enqueued: string[] = [];
  const clock = { now: 0 };
  const uids = { current: 'first' };
  const idOf = (key: string) => ({ namespace: 'plant', name: key.split('/')[1] ?? '' });
  const latestOf = (key: string) => denials.latestOf({ ...idOf(key), uid: uids.current });
  const record = ({ name }: ObservedGatewaySync, transitions: Transition[]) =>
    void events.push(...transitions.map(({ message }) => `${name}: ${message}`));
  const denials = new Denials({
    events: { record },
    gatewaySync: (key) => ({ ...idOf(key), uid: uids.current }) as ObservedGatewaySync,
    enqueue: (key) => enqueued.push(key),
    now: () => clock.now,
  });
  const add = (message: string, ...resources: string[]) => denials.add({ namespace: 'plant', resources, message });
  return { latestOf, events, enqueued, clock, uids, add };
}

suite('denied pods', () => {
  test('cause one event per minute for each message and resource', () => {
    const { events, clock, add } = arrange();
    for (let at = 0; at < 60_000; at += 1_000) {
      clock.now = at;
      add('no profile', 'a', 'b');
    }
    add('no volume', 'a');
    assert.deepEqual(events, ['a: no profile', 'b: no profile', 'a: no volume']);
    clock.now = 60_000;
    add('no profile', 'a');
    assert.equal(events.length, 4);
  });

  test('count for five minutes, the latest one for its resource', () => {
    const { latestOf, clock, add } = arrange();
    add('no profile', 'a');
    add('no volume', 'a');
    assert.deepEqual(latestOf('plant/a'), { message: 'no volume', expiresInMs: 300_000 });
    assert.equal(latestOf('plant/b'), undefined);
    clock.now = 300_000;
    assert.equal(latestOf('plant/a'), undefined);
  });

  test("don't count for another resource of that name, and are dropped if too many resources have some", () => {
    const { latestOf, uids, add } = arrange();
    add('no profile', 'a');
    uids.current = 'second';
    assert.equal(latestOf('plant/a'), undefined, 'created again under the same name');
    add('no profile', 'a');
    assert.ok(latestOf('plant/a'));
    for (let index = 0; index < 1_000; index += 1) add('no profile', `other-${index}`);
    assert.equal(latestOf('plant/a'), undefined);
  });

  test('have messages that fit into a condition, whatever the pod contains', () => {
    const { latestOf, add } = arrange();
    add(`container ${'\u{1F600}'.repeat(500_000)}`, 'a');
    const { message = '' } = latestOf('plant/a') ?? {};
    assert.ok(message.length <= 1_000 && message.isWellFormed());
  });
});
