import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
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
