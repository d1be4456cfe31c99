import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { ApiError } from '../../../../../shared/io/kubernetes/api-error.ts';
import { pauseAfter, Reflector } from '../../../../../shared/io/kubernetes/reflector.ts';
import { clientOfServer } from '../../../../support/client-of-server.ts';
import { slow } from '../../../../support/depth.ts';
import { until } from '../../../../support/until.ts';

function run(t: TestContext, reflector: { run: (signal: AbortSignal) => Promise<void> }): void {
  const stopping = new AbortController();
  const running = reflector.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
}

suite('an overloaded API server', () => {
  const cases: [name: string, error: unknown, failures: number, fromMs: number, toMs: number][] = [
    ['is left alone for as long as it asks', new ApiError(429, '', '2'), 1, 2_000, 2_500],
    ['may ask for it in a status', new ApiError(503, '{"details":{"retryAfterSeconds":3}}'), 1, 3_000, 3_500],
    ['is asked again within a minute and a half, whatever it asks', new ApiError(429, '', '86400'), 9, 60_000, 90_000],
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
});

test('a watch that is closed at once is retried with growing pauses', slow, async (t) => {
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

test('a flood of events leaves time for timers', slow, async (t) => {
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
  let seen = 0;
  let turns = 0;
  const reflector = new Reflector({
    client,
    path: '/api/v1/pods',
    log: pino({ level: 'silent' }),
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

interface Watch {
  resourceVersion: string | null;
  answer: (body: string) => void;
  fail: (status: number) => void;
  cut: () => void;
}

interface Fake {
  t: TestContext;
  onWatch: (watch: Watch, index: number) => void;
  relistAfterMs?: number;
  idleTimeoutMs?: number;
}

const object = (name: string, resourceVersion: string) => ({
  metadata: { namespace: 'ns', name, resourceVersion, uid: name, creationTimestamp: '2026-11-01T00:00:00Z' },
});
const event = (type: string, name: string, version: string) =>
  `${JSON.stringify({ type, object: object(name, version) })}\n`;

/** A mirror of a server that lists the pod `a` at version 10, and does with watches as the test says. */
async function mirrorOf({ t, onWatch, ...options }: Fake) {
  let watches = 0;
  let lists = 0;
  const client = await clientOfServer(t, (request, response) => {
    const { searchParams: query } = new URL(request.url ?? '', 'http://server');
    if (query.get('watch')) {
      watches += 1;
      const watch: Watch = {
        resourceVersion: query.get('resourceVersion'),
        answer: (body) => response.write(body),
        fail: (status) => response.writeHead(status).end('{}'),
        cut: () => response.destroy(),
      };
      onWatch(watch, watches);
    } else {
      lists += 1;
      response.end(JSON.stringify({ metadata: { resourceVersion: '10' }, items: [object('a', '9')] }));
    }
  });
  const reflector = new Reflector<ReturnType<typeof object>, string>({
    client,
    path: '/api/v1/pods',
    ...options,
    project: ({ metadata }) => metadata.resourceVersion,
    onChange: () => {},
    log: pino({ level: 'silent' }),
  });
  run(t, reflector);
  return { lists: () => lists };
}

suite('after a watch that ended with an error,', () => {
  test('a reflector continues from the last version, even that of a bookmark', async (t) => {
    const again = Promise.withResolvers<string | null>();
    const { lists } = await mirrorOf({
      t,
      onWatch: (watch, index) => {
        if (index === 2) return again.resolve(watch.resourceVersion);
        watch.answer(event('ADDED', 'b', '11') + event('BOOKMARK', '', '12'));
        setImmediate(watch.cut);
      },
    });
    assert.equal(await again.promise, '12');
    assert.equal(lists(), 1);
  });

  for (const [status, isContinued] of [
    [401, true],
    [403, true],
    [404, false],
    [410, false],
    [429, true],
    [500, true],
  ] as const) {
    test(`a reflector ${isContinued ? 'continues' : 'lists again'} after ${status}`, async (t) => {
      const again = Promise.withResolvers<string | null>();
      const { lists } = await mirrorOf({
        t,
        onWatch: (watch, index) => {
          if (index === 1) watch.fail(status);
          // Another one follows a 401 at once, with fresh credentials.
          else if (index === 2 && status === 401) watch.fail(status);
          else again.resolve(watch.resourceVersion);
        },
      });
      await again.promise;
      assert.equal(lists(), isContinued ? 1 : 2);
    });
  }
});

test('a reflector lists again after 90 s without data, and when the last list is old enough', async (t) => {
  const silent = await mirrorOf({ t, idleTimeoutMs: 50, onWatch: () => {} });
  await until(silent.lists, { describe: 'a list after silence', accept: (lists) => lists > 1 });
  const hourly = await mirrorOf({ t, relistAfterMs: 100, onWatch: (watch) => watch.cut() });
  await until(hourly.lists, { describe: 'a list after a time', accept: (lists) => lists > 1 });
});
