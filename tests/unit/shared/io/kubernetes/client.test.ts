import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as untilNextTurn } from 'node:timers/promises';
import type { KubernetesClient } from '../../../../../shared/io/kubernetes/client.ts';
import { clientOfServer, clientOfSilentProxy, clientOfSocket } from '../../../../support/client-of-server.ts';
import { slow } from '../../../../support/depth.ts';

async function arrange(t: TestContext, listener: RequestListener) {
  const codes: number[] = [];
  const client = await clientOfServer(t, listener, { onCall: (_, code) => void codes.push(code) });
  return { client, codes };
}

suite('a request to the API server is counted once', () => {
  test('with the status of its response, even if that breaks off', async (t) => {
    const { client, codes } = await arrange(t, (_, response) => {
      response.writeHead(500, { 'Content-Length': 100 }).write('{"kind":');
      setImmediate(() => response.destroy());
    });
    await assert.rejects(client.getAs('/version'), { code: 'ECONNRESET' });
    assert.deepEqual(codes, [500]);
  });

  test('without a status if there was no response', async (t) => {
    const { client, codes } = await arrange(t, (request) => void request.socket.destroy());
    await assert.rejects(client.getAs('/version'));
    assert.deepEqual(codes, [0]);
  });
});

const WHOLE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

type Call = (client: KubernetesClient, signal?: AbortSignal) => Promise<unknown>;
const calls: Record<string, Call> = {
  request: (client, signal) => client.getAs('/version', { timeoutMs: 60_000, signal }),
  patch: (client, signal) => client.request({ method: 'PATCH', path: '/x', body: {}, timeoutMs: 60_000, signal }),
  stream: async (client, signal) => void (await client.stream({ method: 'GET', path: '/x', signal })).resume(),
};

/** Leaves the client with an idle connection, for the same call. */
async function warmUp(client: KubernetesClient, call: Call): Promise<void> {
  await call(client);
  await untilNextTurn(); // Node takes the connection back a tick after the answer's end
}

/** Far less than a call may take. */
const within = { timeout: 10_000 };

suite('a request to the API server ends', () => {
  for (const [how, call] of Object.entries(calls)) {
    test(`at once if the server changes to another protocol (${how})`, within, async (t) => {
      const client = await clientOfSocket(t, (socket) => socket.write(SWITCH));
      await assert.rejects(call(client), { code: 'EPROTO' });
    });

    test(`at once if the server changes to another protocol over a reused connection (${how})`, within, async (t) => {
      const connections = new Set<number>();
      const client = await clientOfSocket(t, (socket, connection, request) => {
        connections.add(connection);
        socket.write(request === 1 ? WHOLE : SWITCH);
      });
      await warmUp(client, call);
      await assert.rejects(call(client), { code: 'EPROTO' });
      assert.equal(connections.size, 1, 'nothing is sent again');
    });

    test(`at once if the connection closes without a response (${how})`, within, async (t) => {
      const client = await clientOfSocket(t, (socket) => socket.end());
      await assert.rejects(call(client), { code: 'ECONNRESET' });
    });

    test(`when its signal aborts (${how})`, within, async (t) => {
      const stopping = new AbortController();
      const client = await clientOfSocket(t, () => stopping.abort(new Error('the process stops')));
      await assert.rejects(call(client, stopping.signal), /the process stops/);
    });
  }

  test("when its signal aborts or its timeout expires, while a proxy doesn't connect", within, async (t) => {
    const client = await clientOfSilentProxy(t);
    await assert.rejects(client.getAs('/version', { timeoutMs: 100 }), { code: 'ETIMEDOUT' });
    const signal = AbortSignal.timeout(100);
    await assert.rejects(client.stream({ method: 'GET', path: '/x', signal }), { name: 'TimeoutError' });
  });

  test('when its signal aborts or its timeout expires, while the only connection is in use', {
    ...slow,
    ...within,
  }, async (t) => {
    const stopping = new AbortController();
    const client = await clientOfSocket(t, () => stopping.abort(new Error('the process stops')), { maxSockets: 1 });
    const first = assert.rejects(client.getAs('/version', { timeoutMs: 3_000 }), { code: 'ETIMEDOUT' });
    const ended: string[] = [];
    const note = (what: string) => () => void ended.push(what);
    await Promise.all([
      first.then(note('the first')),
      assert.rejects(client.getAs('/version', { timeoutMs: 1_500 }), { code: 'ETIMEDOUT' }).then(note('by its time')),
      assert
        .rejects(client.getAs('/version', { signal: stopping.signal }), /the process stops/)
        .then(note('by its signal')),
    ]);
    assert.deepEqual(ended, ['by its signal', 'by its time', 'the first']);
  });

  test('when its timeout expires, while informational responses keep coming', within, async (t) => {
    const client = await clientOfSocket(t, (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n'));
    await assert.rejects(client.getAs('/version', { timeoutMs: 100 }), { code: 'ETIMEDOUT' });
  });

  for (const [method, isRepeated] of [
    ['GET', true],
    ['PUT', true],
    ['POST', false],
  ] as const) {
    const title = `a ${method} ${isRepeated ? 'is' : 'is not'} sent again if the reused connection is gone`;
    test(title, within, async (t) => {
      const reached: string[] = [];
      const client = await clientOfSocket(t, (socket, connection, request) => {
        reached.push(`${connection}.${request}`);
        if (request === 1) socket.write(WHOLE);
        else socket.resetAndDestroy();
      });
      await warmUp(client, (each) => each.getAs('/version'));
      const call = client.request({ method, path: '/x', body: method === 'GET' ? undefined : { kind: 'Event' } });
      if (isRepeated) assert.deepEqual(await call, {});
      else await assert.rejects(call, { code: 'ECONNRESET' });
      assert.deepEqual(reached, isRepeated ? ['1.1', '1.2', '2.1'] : ['1.1', '1.2']);
    });
  }

  test('with the response that follows a hint', within, async (t) => {
    const client = await clientOfSocket(t, (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\n\r\n${WHOLE}`));
    assert.deepEqual(await client.getAs('/version'), {});
  });
});
