import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkRefused } from '../../../cli/checks/check-refused.ts';
import { flatten } from '../../../cli/checks/finding.ts';

const seen = (value: unknown) => ({ kind: 'seen', value });
const template = { metadata: { annotations: { 'sync.io/inject': 'true' } } };
const workload = (name: string, kind = 'Deployment') => ({
  kind,
  metadata: { name, generation: 1 },
  spec: { replicas: 1, template },
  status: { observedGeneration: 1, replicas: 0, updatedReplicas: 0 },
});
const refusal = (name: string, message: string, times: object, kind = 'ReplicaSet') => ({
  reason: 'FailedCreate',
  message: `Error creating: ${message}`,
  involvedObject: { kind, name },
  ...times,
});
const at = (time: string) => ({ lastTimestamp: `2026-01-02T${time}Z` });

const checked = (workloads: unknown[], events: unknown[], pods: unknown[] = []) =>
  checkRefused({ name: 'plant', workloads: seen(workloads), events: seen(events), pods: seen(pods) } as never);
/** The workload and the reason of each finding. */
const said = (...given: Parameters<typeof checked>) =>
  flatten(checked(...given)).map(({ says }) => says.match(/\w+Set [\w-]+|: .*$|\d+/g)?.join(''));

suite('doctor reports denied pods', () => {
  test("with the newest reason of each workload, the newest first, in any order of the API server's list", () => {
    const events = [
      refusal('press-a1', 'quota', at('09:00:00')),
      refusal('press-b2', 'newer quota', at('09:30:00')),
      refusal('press-a1', 'older quota', at('08:00:00')),
      refusal('till-c3', 'no such profile', at('08:10:00')),
      refusal('oven', 'no room', at('10:00:00'), 'StatefulSet'),
    ];
    const expected = [
      'StatefulSet oven: no room',
      'ReplicaSet press-b2: newer quota',
      'ReplicaSet till-c3: no such profile',
    ];
    const workloads = [workload('press'), workload('till'), workload('oven', 'StatefulSet')];
    assert.deepEqual(said(workloads, events), expected);
    assert.deepEqual(said(workloads, events.toReversed()), expected);
  });

  test('of each ReplicaSet without a Deployment, in the words of the injector', () => {
    const events = ['web-a', 'web-b', 'solo', 'other'].map((name) => refusal(name, 'sync agent: no', at('09:00:00')));
    assert.equal(said([], events).length, 4);
    assert.deepEqual(said([], [refusal('web-a', 'quota', at('09:00:00'))]), []);
  });

  test('with the time of a series, if the event has no other', () => {
    const events = [
      refusal('press-a1', 'now', { lastTimestamp: null, ...series('09:00:00', '11:00:00') }),
      refusal('press-a1', 'before', { lastTimestamp: null, eventTime: '2026-01-02T10:00:00.000000Z' }),
    ];
    assert.deepEqual(said([workload('press')], events), ['ReplicaSet press-a1: now']);
  });

  test('only of workloads that got no pod after the newest denial', () => {
    const events = [refusal('press-a1', 'quota', at('09:00:00')), refusal('till-c3', 'quota', at('09:00:00'))];
    const pods = [{ metadata: { name: 'press-a1-x', creationTimestamp: '2026-01-02T09:00:01Z' } }];
    const both = [workload('press'), workload('till')];
    assert.deepEqual(said(both, events, pods), ['ReplicaSet till-c3: quota']);
  });

  test('of five workloads, and the number of others', () => {
    const names = Array.from({ length: 7 }, (_, index) => `w${index}`);
    const events = names.map((name, index) => refusal(`${name}-a1`, 'quota', at(`09:00:0${index}`)));
    const workloads = names.map((name) => workload(name));
    const found = said(workloads, events);
    assert.equal(found.length, 6);
    assert.match(found[0] ?? '', /w6-a1/);
    assert.equal(found[5], '2');
    assert.equal(said(workloads, events.slice(1))[5], '1');
  });
});

function series(from: string, to: string) {
  return { eventTime: `2026-01-02T${from}.000000Z`, series: { lastObservedTime: `2026-01-02T${to}.000000Z` } };
}
