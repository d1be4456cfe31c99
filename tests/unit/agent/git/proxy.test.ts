import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Git } from '../../../../shared/io/git/git.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { localHttp } from '../../../support/local-http.ts';
import { startProxy } from '../../../support/start-proxy.ts';
import { createSandbox } from '../support/sandbox.ts';

suite('the agent fetches', () => {
  for (const [way, host, noProxy, isProxied] of [
    ['through the proxy, which alone knows the name', 'git.invalid', '10.0.0.0/8', true],
    ['past it in a network that is excepted', '127.0.0.1', '127.0.0.0/8', false],
    ['past it from a name that is excepted', 'localhost', '.test, localhost', false],
  ] as const) {
    test(way, async (t) => {
      const proxy = await startProxy(t);
      const server = await gitServerFor(t);
      const { url, commit } = await server.createRepository('app');
      const environment = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: noProxy };
      const http = localHttp(undefined, environment);
      t.after(() => http.close());
      const sandbox = await createSandbox(t, { http, git: new Git({ ...process.env, ...environment }) });
      const repo = url.replace('127.0.0.1', host);
      await sandbox.sync({ repo, commit: await commit({ files: { 'config/a': '1' } }) });
      assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
      assert.equal(
        proxy.requests.some((line) => line.startsWith(`GET ${repo}/info/refs`)),
        isProxied,
        proxy.requests.join('\n'),
      );
    });
  }
});
