import assert from 'node:assert/strict';
import { Agent, get, type RequestListener } from 'node:http';
import { test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { listen } from '../../../shared/io/http/listen.ts';

test('an idle connection stays open for longer than clients reuse it', async (t) => {
  const port = await freePort();
  const listening = await listen({ handler: (_, response) => response.end(), host: '127.0.0.1', port });
  t.after(() => listening.close(0));
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const reported = await new Promise<string>((resolve, reject) => {
    get({ port, host: '127.0.0.1', agent }, (response) => resolve(String(response.resume().headers['keep-alive']))).on(
      'error',
      reject,
    );
  });
  // The API server: 90 s. Load balancers of Google Cloud: 600 s.
  assert.ok(Number(/timeout=(\d+)/.exec(reported)?.[1]) > 600, reported);
});

test('port 0 is any free port, which is never given up before the server listens on it', async (t) => {
  const ports = await Promise.all(
    [1, 2, 3].map(async (number) => {
      const handler: RequestListener = (_, response) => response.end(String(number));
      const listening = await listen({ handler, host: '127.0.0.1', port: 0 });
      t.after(() => listening.close(0));
      assert.equal(await (await fetch(`http://127.0.0.1:${listening.port}`)).text(), String(number));
      return listening.port;
    }),
  );
  assert.equal(new Set(ports).size, 3);
  assert.ok(!ports.includes(3000));
});
