import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { ApiError } from '../../../../../shared/io/kubernetes/api-error.ts';
import { pauseAfter, Reflector } from '../../../../../shared/io/kubernetes/reflector.ts';
import { clientOfServer } from '../../../../support/client-of-server.ts';
import { until } from '../../../../support/until.ts';

function run(t: TestContext, reflector: { run: (signal: AbortSignal) => Promise<void> }): void {
  const stopping = new AbortController();
  const running = reflector.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
}

suite('a server that has too much to do', () => {
  const cases: [name: string, error: unknown, failures: number, fromMs: number, toMs: number][] = [
    ['is left alone for as long as it asks', new ApiError(429, '', '2'), 1, 2_000, 2_500],
    ['may ask for it in a status', new ApiError(503, '{"details":{"retryAfterSeconds":3}}'), 1, 3_000, 3_500],
    ['is asked again within a minute and a half, whatever it asks', new ApiError(429, '', '86400'), 9, 60_000, 90_000],
    ['may leave it to us', new ApiError(429, ''), 2, 0, 1_000],
    ['may be unavailable', new Error('ECONNREFUSED'), 30, 0, 30_000],
  ];
  for (const [name, error, failures, fromMs, toMs] of cases) {
    test(name, () => {
      for (let look = 0; look < 100; look += 1) {
        const pauseMs = pauseAfter(error, failures);
        assert.ok(pauseMs >= fromMs && pauseMs <= toMs, String(pauseMs));
      }
    });
  }

  test('hears nothing from a watch before its time', async (t) => {
    const askedAt: number[] = [];
    const again = Promise.withResolvers<void>();
    const client = await clientOfServer(t, (_, response) => {
      askedAt.push(performance.now());
      if (askedAt.length === 2) again.resolve();
      response.writeHead(429, { 'Retry-After': '1' }).end();
    });
    const log = pino({ level: 'silent' });
    const reflector = new Reflector({ client, path: '/api/v1/pods', project: () => '', onChange: () => {}, log });
    run(t, reflector);
    await again.promise;
    const [first = 0, second = 0] = askedAt;
    assert.ok(second - first >= 990, `${second - first} ms`);
  });
});

test('a watch that something on the way ends at once is tried again after pauses that grow', async (t) => {
  const watchedAt: number[] = [];
  const client = await clientOfServer(t, (request, response) => {
    if (!request.url?.includes('watch=')) {
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
      return;
    }
    watchedAt.push(performance.now());
    response.end();
  });
  const log = pino({ level: 'silent' });
  const reflector = new Reflector({ client, path: '/api/v1/pods', project: () => '', onChange: () => {}, log });
  run(t, reflector);
  const lastPause = () => (watchedAt.at(-1) ?? 0) - (watchedAt.at(-2) ?? Number.POSITIVE_INFINITY);
  await until(lastPause, { describe: 'a pause of more than a second', accept: (ms) => ms > 1_000 });
  assert.ok(watchedAt.length < 20, `${watchedAt.length} watches`);
});

test('a flood of events leaves timers their turn', async (t) => {
  const event = (index: number) =>
    JSON.stringify({
      type: 'MODIFIED',
      object: { metadata: { namespace: 'ns', name: 'pod', resourceVersion: `${index}` } },
    });
  const flood = Array.from({ length: 200 }, (_, index) => `${event(index + 2)}\n`).join('');
  const client = await clientOfServer(t, (request, response) => {
    if (request.url?.includes('watch=')) response.write(flood);
    else response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
  });
  const all = Promise.withResolvers<void>();
  let [seen, turns] = [0, 0];
  const reflector = new Reflector({
    ...{ client, path: '/api/v1/pods', log: pino({ level: 'silent' }) },
    project: () => '',
    onChange: () => {
      for (const began = performance.now(); performance.now() - began < 3; );
      seen += 1;
      if (seen === 200) all.resolve();
    },
  });
  run(t, reflector);
  await until(() => seen > 0, { describe: 'the first event' });
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await all.promise;
  clearInterval(timer);
  assert.ok(turns >= 20, `${turns} turns in 600 ms of work`);
});
