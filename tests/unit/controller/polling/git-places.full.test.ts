import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';
import { arrange } from './repositories-world.ts';

test('two git processes run at a time, one of them for a namespace, and HTTP waits for neither', async (t) => {
  const { query, first, untilAnswered } = await arrange(t, { ...DEFAULT_LIMITS, timeoutMs: 2_500 });
  let open = 0;
  let most = 0;
  const port = await startTcpServer(t, (socket) => {
    open += 1;
    // The end of an earlier one may not have been noticed yet.
    setTimeout(() => {
      most = Math.max(most, open);
    }, 200);
    socket.resume().on('close', () => {
      open -= 1;
    });
  });
  const repo = (name: string) => `git://127.0.0.1:${port}/${name}.git`;
  const all = ['a/1', 'a/2', 'a/3', 'b/1', 'c/1'];
  for (const key of all) query(key, { repo: repo(key) });
  const answer = await untilAnswered('a/http');
  assert.equal(answer.kind === 'refs' && answer.refs.get('refs/heads/main'), first);
  await until(() => all.every((key) => query(key, { repo: repo(key) }).kind !== 'querying'), {
    describe: 'each had its turn',
  });
  assert.equal(most, 2);
});
