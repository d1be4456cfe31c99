import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Inspector, type InspectorOptions } from '../../../../agent/inspection/inspector.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { type Question, sealedAbout } from '../../../../shared/api/inspection.ts';
import type { SyncReportStatus } from '../../../../shared/api/sync-report.ts';
import { TerminalError } from '../../../../shared/errors.ts';
import { openAnswer } from '../../../../shared/io/inspection-answer.ts';
import { drawKeys } from '../../../../shared/io/sealed-box.ts';
import { slow } from '../../../support/depth.ts';
import { until } from '../../../support/until.ts';

const identity = {
  podName: 'gateway-0',
  podUid: 'uid',
  namespace: 'ns',
  crName: 'gw',
  profile: 'default',
  gatewayName: undefined,
};
const keys = await drawKeys();
const never = new AbortController().signal;

const resource = (inspect: string | undefined) => ({ ...(inspect && { inspect }) }) as WatchedResource;

function questionOf(fields: Partial<Question> = {}): Question {
  const expires = new Date(Date.now() + 60_000).toISOString();
  const common = { kind: 'drift' as const, pods: ['gateway-0'], key: keys.publicKey };
  return { id: randomUUID(), ...common, expires, ...fields };
}

/** An inspector, and the results shown so far. */
function inspectorOf(inspect: InspectorOptions['inspect'] = async () => ({ changes: [], more: 0 })) {
  const shown: SyncReportStatus['inspection'][] = [];
  let calls = 0;
  let due = 0;
  const inspector = new Inspector({
    identity,
    inspect: (...given) => {
      calls += 1;
      return inspect(...given);
    },
    tidy: async () => {},
    show: (inspection) => shown.push(inspection),
    serverTime: Date.now,
    onDue: () => {
      due += 1;
    },
    log: pino({ level: 'silent' }),
  });
  const ask = (question: Question | undefined) => inspector.onResource(resource(question && JSON.stringify(question)));
  const counts = () => ({ calls, due, shown: shown.length });
  return { inspector, shown, ask, counts };
}

const read = async (inspection: SyncReportStatus['inspection'], id: string, pod = 'gateway-0') =>
  await openAnswer(inspection?.sealed ?? '', {
    keys,
    about: sealedAbout({ namespace: 'ns', crName: 'gw', pod, id }),
  });

suite('a query to the agent is answered', () => {
  test('once, for every client, for this pod and this query', async () => {
    const { inspector, shown, ask, counts } = inspectorOf(async () => ({ ref: 'main', changes: [], more: 3 }));
    const question = questionOf();
    ask(question);
    ask(question);
    assert.deepEqual([counts().due, inspector.dueMs], [1, 0]);
    await inspector.run(never);
    await inspector.run(never);
    assert.deepEqual(counts(), { calls: 1, due: 1, shown: 1 });
    assert.equal(shown[0]?.id, question.id);
    assert.deepEqual(await read(shown[0], question.id), { ref: 'main', changes: [], more: 3 });
    assert.equal(await read(shown[0], randomUUID()), undefined);
    assert.equal(await read(shown[0], question.id, 'gateway-1'), undefined);
  });

  test('until the query is withdrawn, which removes the answer', async () => {
    const { inspector, shown, ask } = inspectorOf();
    ask(questionOf());
    await inspector.run(never);
    ask(undefined);
    assert.deepEqual(shown.slice(1), [undefined]);
    assert.equal(inspector.dueMs, Number.POSITIVE_INFINITY);
  });

  test('until the query expires, even if no client withdraws it', slow, async () => {
    const { inspector, shown, ask } = inspectorOf();
    ask(questionOf({ expires: new Date(Date.now() + 5_000).toISOString() }));
    await inspector.run(never);
    assert.equal(shown.length, 1);
    await until(() => shown.length === 2, { describe: 'the answer to go' });
    assert.equal(shown[1], undefined);
  });

  test("with a message if it can't be answered", async () => {
    const { inspector, shown, ask } = inspectorOf(async () => {
      throw new TerminalError('the repository has no x', { code: 'a', reason: 'RefNotFound' });
    });
    const question = questionOf();
    ask(question);
    await inspector.run(never);
    const answer = await read(shown[0], question.id);
    assert.deepEqual(answer, { problem: 'the repository has no x', changes: [], more: 0 });
  });

  test('after a sync that comes first', async () => {
    const { inspector, ask, counts } = inspectorOf(async (_target, _question, signal) => {
      await sleep(60_000, undefined, { signal });
      return { changes: [], more: 0 };
    });
    ask(questionOf());
    const stop = new AbortController();
    const running = inspector.run(stop.signal);
    stop.abort();
    await running;
    assert.deepEqual(counts(), { calls: 1, due: 1, shown: 0 });
    assert.ok(inspector.dueMs > 0 && inspector.dueMs <= 5_000, `${inspector.dueMs}`);
  });

  test('a few seconds after the previous one at the earliest', async () => {
    const { inspector, ask, counts } = inspectorOf();
    ask(questionOf());
    await inspector.run(never);
    ask(questionOf());
    assert.ok(inspector.dueMs > 4_000, `${inspector.dueMs}`);
    await inspector.run(never);
    assert.equal(counts().calls, 1);
  });

  test('sooner if it is about a part of a file, but never at once', async () => {
    const { inspector, ask } = inspectorOf();
    const part = { kind: 'content', path: 'a', offset: 0 } as const;
    ask(questionOf());
    await inspector.run(never);
    for (let number = 0; number < 2; number += 1) {
      ask(questionOf(part));
      assert.ok(inspector.dueMs > 0 && inspector.dueMs <= 1_000, `${inspector.dueMs}`);
      await until(() => inspector.dueMs === 0, { describe: 'the next part to be due' });
      await inspector.run(never);
    }
    ask(questionOf());
    assert.ok(inspector.dueMs > 1_000, 'a scan has the interval of scans, whatever came in between');
  });

  test('unless the client has withdrawn it in the meantime', async () => {
    const looked = Promise.withResolvers<void>();
    const { inspector, ask, counts } = inspectorOf(async () => {
      await looked.promise;
      return { changes: [], more: 0 };
    });
    ask(questionOf());
    const running = inspector.run(never);
    ask(undefined);
    looked.resolve();
    await running;
    assert.equal(counts().shown, 0);
  });
});

test('an invalid, foreign, or outdated query has no effect', async () => {
  const { inspector, ask, counts } = inspectorOf();
  ask(questionOf({ pods: ['gateway-1'] }));
  ask(questionOf({ expires: new Date(Date.now() - 1).toISOString() }));
  for (const text of ['', '{', '[]', JSON.stringify({ ...questionOf(), id: 'x'.repeat(1_000_000) })]) {
    inspector.onResource(resource(text));
  }
  inspector.onResource(undefined);
  await inspector.run(never);
  assert.deepEqual(counts(), { calls: 0, due: 0, shown: 0 });
});

test('an invalid key costs only the answer', async () => {
  const { inspector, ask, counts } = inspectorOf();
  ask(questionOf({ key: Buffer.alloc(32).toString('base64url') }));
  await inspector.run(never);
  assert.deepEqual(counts(), { calls: 1, due: 1, shown: 0 });
  assert.equal(inspector.dueMs, Number.POSITIVE_INFINITY);
});
