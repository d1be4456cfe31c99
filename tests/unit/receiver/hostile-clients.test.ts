import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { slow } from '../../support/depth.ts';
import { until } from '../../support/until.ts';
import { type RunningApp, startApp, stored } from './start-app.ts';

const path = '/webhook/team/demo';
const chunk = Buffer.alloc(16_384, 'x');

/** Opens a connection, sends text and collects what comes back. */
function dial(t: TestContext, port: number, text: string, localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  let received = '';
  socket.setEncoding('utf8').on('data', (data: string) => {
    received += data;
  });
  socket.on('error', () => {});
  socket.write(text);
  t.after(() => socket.destroy());
  return { socket, received: () => received };
}

const head = (...lines: string[]) =>
  `${[`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', 'Authorization: Bearer token', ...lines].join('\r\n')}\r\n\r\n`;

/** Sends a body in chunks, without a length, and gives the status. */
async function postChunked(app: RunningApp, bytes: number): Promise<number> {
  const outgoing = request({
    port: app.port,
    host: '127.0.0.1',
    method: 'POST',
    path,
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer token' },
  });
  const status = new Promise<number>((resolve, reject) => {
    outgoing.once('response', (response) => resolve(response.resume().statusCode ?? 0));
    // Once it is answered, the connection may end as it likes.
    outgoing.on('error', reject);
  });
  for (let sent = 0; sent < bytes; sent += chunk.length) outgoing.write(chunk);
  outgoing.end();
  return await status;
}

/** Waits until so many bytes more have come in than at some time before. */
const untilRead = (app: RunningApp, bytes: number, before = 0) =>
  until(() => app.bytesRead - before >= bytes, { describe: `${bytes} bytes to come in`, interval: 5 });

const works = async (app: RunningApp) => assert.equal((await app.post(path, '{"ref":"v1"}')).status, 202);

suite('a body above the limit', () => {
  test('gets 413 if its length is declared, and is read if it has exactly the maximum size', async (t) => {
    const app = await startApp(t);
    const { status, body } = await app.post(path, Buffer.alloc(100_001, ' '));
    assert.deepEqual([status, body.accepted], [413, false]);
    assert.equal((await app.post(path, '{"ref":"v1"}'.padEnd(100_000))).status, 202);
  });

  test('gets 413, instead of counting as truncated with a wrong signature, if it is chunked', async (t) => {
    const app = await startApp(t);
    assert.equal(await postChunked(app, 300_000), 413);
    assert.deepEqual(app.stored, []);
    await works(app);
  });

  test('gets a response before it is complete, and is cut off if it never ends', async (t) => {
    const app = await startApp(t);
    const { socket, received } = dial(t, app.port, head('Content-Length: 100000000'));
    let isOpen = true;
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => {
        isOpen = false;
        resolve();
      });
    });
    for (let sent = 0; sent < 100_000_000 && isOpen; sent += chunk.length) {
      if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    await closed;
    assert.match(received(), /^HTTP\/1\.1 413 /);
    await works(app);
  });
});

suite('a slow client', () => {
  /** Ten unauthenticated clients with large bodies that they don't finish, and how many of them got 503. */
  function dialOutsiders(t: TestContext, { port }: RunningApp) {
    const unfinished = `${head('Content-Length: 99999').replace('Bearer token', 'Bearer wrong')}${'x'.repeat(99_000)}`;
    const dials = Array.from({ length: 10 }, () => dial(t, port, unfinished));
    return { refused: () => dials.filter(({ received }) => received().startsWith('HTTP/1.1 503 ')).length };
  }

  test("that opens large bodies and doesn't finish them is dropped for one that sends", async (t) => {
    const app = await startApp(t, { limits: { maxBytes: 100_000, budgetBytes: 200_000 } });
    const { refused } = dialOutsiders(t, app);
    await until(refused, { describe: 'the bodies beyond the budget to be refused', accept: (count) => count === 7 });
    const signed = '{"ref":"v1"}'.padEnd(99_000);
    for (let i = 0; i < 3; i++) assert.equal((await app.post(path, signed)).status, 202, `delivery ${i}`);
    assert.ok(refused() >= 8, 'a slow one made room');
  });

  test("with a known token isn't dropped in favor of unauthenticated clients", async (t) => {
    const app = await startApp(t, { limits: { maxBytes: 100_000, budgetBytes: 200_000 } });
    const known = dial(t, app.port, head('Content-Length: 99999') + '{"ref":"v1"}'.padEnd(90_000));
    await untilRead(app, 90_000);
    const { refused } = dialOutsiders(t, app);
    await until(refused, { describe: 'strangers to be refused', accept: (count) => count >= 8 });
    known.socket.write(' '.repeat(9_999));
    await until(() => known.received().startsWith('HTTP/1.1 202 '), { describe: 'the delivery to be taken' });
  });

  test('that leaves before its body is complete is forgotten', async (t) => {
    const app = await startApp(t);
    const beginning = `${head('Content-Length: 50')}{"ref":`;
    const { socket } = dial(t, app.port, beginning);
    await untilRead(app, beginning.length);
    socket.destroy();
    await until(() => app.records.length > 0, { describe: 'the end of the request' });
    assert.deepEqual(app.reasons(), ['BrokenOff']);
    assert.deepEqual(app.stored, []);
    await works(app);
  });

  test('that leaves after its request is stored all the same', async (t) => {
    const reached = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const app = await startApp(t, {
      enqueue: async () => {
        reached.resolve();
        await gone.promise;
        return stored;
      },
    });
    const { socket } = dial(t, app.port, `${head('Content-Length: 12')}{"ref":"v1"}`);
    await reached.promise;
    socket.destroy();
    await app.untilConnections(0);
    gone.resolve();
    await until(() => app.records.length > 0, { describe: 'the end of the request' });
    assert.deepEqual(app.reasons(), ['']);
    await works(app);
  });
});

suite('a client that sends slowly, with', { concurrency: true }, () => {
  /** Sends the parts with pauses, and gives what came back when the server has closed the connection, and after how long. */
  const trickle = async (t: TestContext, text: string) => {
    const app = await startApp(t, { headTimeoutMs: 1000, limits: { timeoutMs: 1000 } });
    const started = performance.now();
    const { socket, received } = dial(t, app.port, text);
    const drip = setInterval(() => socket.writable && socket.write('x'), 100);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(drip);
    await works(app);
    assert.deepEqual(app.stored.length, 1);
    return { status: received().slice(9, 12), seconds: (performance.now() - started) / 1000 };
  };

  for (const [name, text] of [
    ['its headers', 'POST /webhook/team/demo HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['its body', `${head('Content-Length: 1000')}{"ref":"`],
  ] as const) {
    test(`${name}, is cut off soon after the time limit of a request`, slow, async (t) => {
      const { seconds, status } = await trickle(t, text);
      assert.ok(seconds > 0.9 && seconds < 10, `${seconds} s`);
      assert.equal(status, '408');
    });
  }

  test("a second request's headers, is cut off as well, although an idle connection can wait for one", async (t) => {
    const app = await startApp(t, { headTimeoutMs: 1000 });
    const whole = `${head('Content-Length: 12')}{"ref":"v1"}`;
    const slow = dial(t, app.port, whole);
    const waiting = dial(t, app.port, whole);
    await until(() => slow.received().endsWith('}') && waiting.received().endsWith('}'), { describe: 'both answers' });
    const drip = setInterval(() => slow.socket.writable && slow.socket.write('P'), 100);
    await new Promise((resolve) => slow.socket.once('close', resolve));
    clearInterval(drip);
    waiting.socket.write(whole);
    await until(() => waiting.received().match(/ 202 /g)?.length === 2, { describe: 'a second answer' });
  });
});

test("a reused client port doesn't hide a connection from the limit", slow, async (t) => {
  const app = await startApp(t, { maxConnections: 5, headTimeoutMs: 1000 });
  const open = (localPort?: number) =>
    new Promise<Socket | undefined>((resolve) => {
      const socket = connect({ port: app.port, host: '127.0.0.1', ...(localPort && { localPort }) });
      socket.once('connect', () => resolve(socket)).on('error', () => resolve(undefined));
      t.after(() => socket.destroy());
    });
  const again: Socket[] = [];
  for (let tries = 0; tries < 200 && again.length < 10; tries++) {
    const first = await open();
    const localPort = first?.localPort;
    first?.resetAndDestroy();
    await new Promise((resolve) => setImmediate(resolve));
    // The port may be taken: by the end of the first connection, or by another program.
    const second = await open(localPort);
    if (second) again.push(second);
  }
  assert.ok(again.length > 0, 'no port could be used again');
  const isOver = ({ destroyed, readyState }: Socket) => destroyed || readyState !== 'open';
  for (const socket of again) socket.resume();
  await until(() => again.every(isOver), { describe: 'heads to be waited for no longer' });
});

test(
  "requests whose responses aren't read end their connection, and a limited number of them reaches the program",
  slow,
  async (t) => {
    let reached = 0;
    const app = await startApp(t, {
      enqueue: async () => {
        reached += 1;
        await sleep(500);
        return stored;
      },
    });
    const { socket } = dial(t, app.port, `${head('Content-Length: 12')}{"ref":"v1"}`.repeat(300));
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(reached <= 16, `${reached} reached it`);
    await works(app);
  },
);

suite('a request', () => {
  for (const [what, hosts, expected] of [
    ['with two hosts', 'Host: x\r\nhost: y\r\n', '400'],
    ['with an empty host', 'Host:\r\n', '202'],
    ['that expects something unknown', 'Host: x\r\nExpect: x\r\n', '417'],
    ['that expects to be told to go on', 'Host: x\r\nExpect: 100-continue\r\n', '100'],
  ] as const) {
    test(`${what} gets ${expected}`, async (t) => {
      const app = await startApp(t);
      const { received } = dial(t, app.port, `${head('Content-Length: 12').replace('Host: x\r\n', hosts)}{"ref":"v1"}`);
      await until(received, { describe: 'an answer', accept: (text) => text.includes('\r\n\r\n') });
      assert.equal(received().slice(9, 12), expected);
    });
  }
});

suite('connections of clients', () => {
  const whole = `${head('Content-Length: 12')}{"ref":"v1"}`;
  const isOpen = ({ socket }: { socket: Socket }) => !socket.destroyed && socket.readyState === 'open';
  /** Connections that have been answered and are kept, the one that was idle for longest first. */
  const openIdle = async (t: TestContext, port: number, count: number, localAddress = '127.0.0.1') => {
    const dials = [];
    for (let i = 0; i < count; i++) {
      const dialled = dial(t, port, whole, localAddress);
      await until(() => dialled.received().endsWith('}'), { describe: 'an answer', interval: 5 });
      dials.push(dialled);
    }
    return dials;
  };
  /** Connections whose request is being answered. */
  const openBusy = (t: TestContext, port: number, count: number, localAddress = '127.0.0.1') =>
    Array.from({ length: count }, () => dial(t, port, `${head('Content-Length: 12')}{"ref":`, localAddress));

  test('above the limit replace the one that was idle for longest, and no other', async (t) => {
    const dropped: number[] = [];
    const app = await startApp(t, { maxConnections: 5, onDrop: () => dropped.push(1) });
    const idle = await openIdle(t, app.port, 5);
    const [newcomer] = await openIdle(t, app.port, 1);
    await until(() => idle.filter(isOpen).length === 4, { describe: 'one to be closed' });
    assert.ok(!isOpen(idle[0]!) && isOpen(newcomer!));
    assert.equal(dropped.length, 1);
  });

  test('whose next headers or body stall are dropped for those that send', async (t) => {
    const app = await startApp(t, { maxConnections: 4 });
    const known = await openIdle(t, app.port, 2);
    for (const { socket } of known) socket.write('P');
    const bodies = openBusy(t, app.port, 2);
    await until(() => works(app).then(() => true), { describe: 'a delivery to be taken', interval: 200 });
    await until(() => works(app).then(() => true), { describe: 'another one', interval: 200 });
    assert.ok([...known, ...bodies].filter(isOpen).length < 4);
  });

  test('without any data are dropped after a second', async (t) => {
    const app = await startApp(t, { maxConnections: 5 });
    const silent = Array.from({ length: 5 }, () => dial(t, app.port, ''));
    await until(() => works(app).then(() => true), { describe: 'a delivery to be taken', interval: 200 });
    assert.ok(silent.filter(isOpen).length < 5);
  });

  test('of one address can be all that are free, and make room for others beyond its share', async (t) => {
    const app = await startApp(t, { maxConnections: 10, maxConnectionsPerAddress: 3 });
    const greedy = openBusy(t, app.port, 12, '127.0.0.2');
    await until(() => greedy.filter(isOpen).length === 10, { describe: 'the two beyond all to be closed' });
    const left = (count: number) =>
      until(() => greedy.filter(isOpen).length === count, { describe: `${count} of the greedy address` });
    const others = openBusy(t, app.port, 3, '127.0.0.3');
    await left(7);
    const [idle] = await openIdle(t, app.port, 1, '127.0.0.4');
    await left(6);
    others.push(...openBusy(t, app.port, 1, '127.0.0.5'));
    await until(() => !isOpen(idle!), { describe: 'the idle one to make room before a busy one' });
    others.push(...openBusy(t, app.port, 3, '127.0.0.6'));
    await left(3);
    const [newcomer] = openBusy(t, app.port, 1, '127.0.0.7');
    const busy = [...greedy, ...others];
    await until(() => busy.filter(isOpen).length === 9, { describe: 'one of an address with the most to be closed' });
    assert.ok(isOpen(newcomer!));
    const [oneTooMany] = openBusy(t, app.port, 1, '127.0.0.6');
    await until(() => !isOpen(oneTooMany!), { describe: 'a newcomer of an address with as many to be closed' });
    assert.equal(busy.filter(isOpen).length, 9);
  });
});

suite('requests on one connection', () => {
  test('are answered in order, even after a rejected one', async (t) => {
    const app = await startApp(t);
    const ok = `${head('Content-Length: 12')}{"ref":"v1"}`;
    const refused = `${head('Content-Length: 2')}[]`;
    const { received } = dial(t, app.port, ok + refused + ok);
    const statuses = await until(() => received().match(/HTTP\/1\.1 \d+/g), {
      describe: 'three answers',
      accept: (found) => found?.length === 3,
    });
    assert.deepEqual(statuses, ['HTTP/1.1 202', 'HTTP/1.1 400', 'HTTP/1.1 202']);
  });

  test('are answered when the server closes, and the connection is closed soon after', async (t) => {
    const reached = Promise.withResolvers<void>();
    const app = await startApp(t, {
      enqueue: async () => {
        reached.resolve();
        await sleep(300);
        return stored;
      },
    });
    const { socket, received } = dial(t, app.port, `${head('Content-Length: 12')}{"ref":"v1"}`);
    const ended = new Promise((resolve) => socket.once('end', resolve));
    await reached.promise;
    const started = performance.now();
    await app.close(10_000);
    await ended;
    assert.ok(performance.now() - started < 8000, 'not only when the grace is over');
    assert.match(received(), /^HTTP\/1\.1 202 /);
  });
});
