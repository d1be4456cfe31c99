import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { AddressGuard } from '../../../shared/io/address-guard.ts';
import { GuardedHttp } from '../../../shared/io/http/guarded-http.ts';
import { openPort } from '../../support/open-port.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

suite('the number of idle connections', { concurrency: 2 }, () => {
  for (const scheme of ['http', 'https']) {
    test(`over ${scheme} is small, however many servers there are, and the latest ones are kept`, async (t) => {
      const directory = await temporaryDirectory(t, 'idle-connections-');
      const { caFile, certFile, keyFile } = await createCertificates(directory, ['*.git.test']);
      const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map((file) => readFile(file, 'utf8')));
      const answer: Parameters<typeof createServer>[1] = (_, response) => void response.end('ok');
      const server = scheme === 'https' ? createTlsServer({ cert, key }, answer) : createServer(answer);
      const open = new Set<Socket>();
      let opened = 0;
      server.on('connection', (socket: Socket) => {
        opened += 1;
        open.add(socket.once('close', () => open.delete(socket)));
      });
      const port = await openPort(t, server);
      const guard = new AddressGuard({ resolve: async () => [{ address: '127.0.0.1', family: 4 }] }, () => false);
      const http = new GuardedHttp({ guard, environment: {} });
      t.after(() => http.close());
      const ask = async (host: number) => {
        const url = new URL(`${scheme}://host-${host}.git.test:${port}/`);
        const response = await http.send(url, { ca: scheme === 'https' ? ca : undefined });
        for await (const _ of response);
      };
      for (let host = 0; host < 100; host += 1) await ask(host);
      await until(() => open.size <= 32, { describe: 'those that are too many are closed' });
      assert.equal(opened, 100);
      await ask(99);
      assert.equal(opened, 100, 'the last one is used again');
      await ask(0);
      assert.equal(opened, 101, 'the first one is gone');
    });
  }
});
