import assert from 'node:assert/strict';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import {
  type KeyPair,
  makeAuthority,
  makeServingCertificate,
} from '../../../../controller/certificates/make-certificate.ts';
import { serveAdmission } from '../../../../controller/injection/serve-admission.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { createLogger } from '../../../../shared/log.ts';
import { slow } from '../../../support/depth.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';
import {
  clientOfForeign,
  type ForeignKey,
  foreignAuthority,
  foreignServing,
  type KeyForm,
} from '../certificates/foreign-certificates.ts';

const authority = makeAuthority(Date.now());
const serving = () => makeServingCertificate(authority, ['localhost'], Date.now());

/** A directory whose files are replaced as the kubelet does: all at once, by changing a link. */
async function secretVolume(t: TestContext) {
  const directory = await temporaryDirectory(t, 'volume-');
  for (const file of ['tls.crt', 'tls.key']) await symlink(path.join('..data', file), path.join(directory, file));
  let version = 0;
  return {
    directory,
    write: async ({ certificate, privateKey }: KeyPair) => {
      version += 1;
      const name = `..version-${version}`;
      await mkdir(path.join(directory, name));
      await writeFile(path.join(directory, name, 'tls.key'), privateKey);
      await writeFile(path.join(directory, name, 'tls.crt'), certificate);
      await symlink(name, path.join(directory, '..data_tmp'));
      await rename(path.join(directory, '..data_tmp'), path.join(directory, '..data'));
    },
  };
}

interface Given {
  lingerMs?: number;
  clientCaFile?: string;
}

async function serve(t: TestContext, certDir: string, { lingerMs = 300, clientCaFile }: Given = {}) {
  const stopping = new AbortController();
  const taken: string[] = [];
  const warnings: string[] = [];
  const log = createLogger('test', { level: 'silent' });
  const listening = await serveAdmission({
    handler: (_request, response) => response.end('ok'),
    host: '127.0.0.1',
    port: await freePort(),
    certDir,
    clientCaFile,
    selfSigned: { client: {} as KubernetesClient, webhook: undefined, namespace: '', directory: '' },
    signal: stopping.signal,
    log: Object.assign(log, { warn: (_: object, message: string) => warnings.push(message) }),
    checkMs: 10,
    lingerMs,
    onCertificate: ({ fingerprint }) => taken.push(fingerprint),
  });
  t.after(async () => {
    stopping.abort();
    await listening.close(100);
  });
  return { taken, warnings, listening, port: (listening.server.address() as AddressInfo).port };
}

/** Makes a handshake with full verification; returns the fingerprint of the certificate. */
function shakeHands(port: number, ca = authority.certificate): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.end();
    });
    socket.once('error', reject);
  });
}

suite('the certificate of the admission endpoint', () => {
  test('is replaced several times during continuous handshakes, none of which fails', slow, async (t) => {
    const volume = await secretVolume(t);
    await volume.write(serving());
    const { port, taken } = await serve(t, volume.directory);
    let stopped = false;
    const seen = new Set<string>();
    const hail = async () => {
      while (!stopped) seen.add(await shakeHands(port));
    };
    const hails = Promise.all([hail(), hail(), hail(), hail()]);
    for (let round = 2; round <= 21; round += 1) {
      await volume.write(serving());
      await until(() => taken.length === round, { describe: 'the certificate', interval: 5 });
      assert.equal(await shakeHands(port), taken.at(-1));
    }
    stopped = true;
    await hails;
    assert.ok(seen.size > 10, `${seen.size} certificates were seen`);
  });

  test('is kept while its files are invalid', async (t) => {
    const volume = await secretVolume(t);
    const good = serving();
    await volume.write(good);
    const { port, taken } = await serve(t, volume.directory);
    await volume.write({ certificate: good.certificate, privateKey: serving().privateKey });
    await sleep(50);
    await volume.write({ certificate: '', privateKey: '' });
    await sleep(50);
    await rm(path.join(volume.directory, '..data'));
    await sleep(50);
    assert.equal(await shakeHands(port), taken[0]);
    assert.equal(taken.length, 1);
    await volume.write(serving());
    await until(() => taken.length === 2, { describe: 'the next good certificate' });
    assert.equal(await shakeHands(port), taken[1]);
  });

  const foreign: [ForeignKey, KeyForm][] = [
    ['rsa', 'pkcs1'],
    ['p384', 'sec1'],
    ['ed25519', 'pkcs8'],
  ];
  for (const [key, form] of foreign) {
    test(`can be foreign, below an intermediate CA: ${key}, ${form}`, slow, async (t) => {
      const { root, pair } = await foreignServing(t, key, form);
      const volume = await secretVolume(t);
      await volume.write(pair);
      const { port, taken } = await serve(t, volume.directory);
      assert.equal(await shakeHands(port, root), taken[0]);
    });
  }

  test('can have a key with curve parameters and Windows line endings', async (t) => {
    const { root, pair } = await foreignServing(t, 'p256', 'sec1');
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    const volume = await secretVolume(t);
    const asOnWindows = (text: string) => text.replaceAll('\n', '\r\n');
    await volume.write({
      certificate: asOnWindows(pair.certificate),
      privateKey: asOnWindows(`${parameters}${pair.privateKey}`),
    });
    const { port, taken } = await serve(t, volume.directory);
    assert.equal(await shakeHands(port, root), taken[0]);
  });

  test('is served for a while after closing begins, until the last client leaves', slow, async (t) => {
    const volume = await secretVolume(t);
    await volume.write(serving());
    const { port, taken, listening } = await serve(t, volume.directory, { lingerMs: 3_000 });
    const closed = listening.close(100);
    await sleep(100);
    assert.equal(await shakeHands(port), taken[0]);
    await closed;
    await assert.rejects(shakeHands(port), /ECONNREFUSED/);
  });

  test("is logged once a minute if a client doesn't trust it", async (t) => {
    const volume = await secretVolume(t);
    await volume.write(serving());
    const { port, warnings } = await serve(t, volume.directory);
    const distrust = () => runCommand('openssl', ['s_client', '-verify_return_error', '-connect', `127.0.0.1:${port}`]);
    for (let call = 0; call < 2; call += 1) await assert.rejects(distrust(), /verify failed/);
    await until(() => warnings.length > 0, { describe: 'a warning', interval: 10 });
    assert.deepEqual(warnings, ['a client does not trust the certificate of the admission endpoint']);
  });

  test(
    'of a closing endpoint serves one last response per connection, so no review arrives too late',
    slow,
    async (t) => {
      const volume = await secretVolume(t);
      await volume.write(serving());
      const { port, listening } = await serve(t, volume.directory);
      const agent = new Agent({ ca: authority.certificate, servername: 'localhost', keepAlive: true, maxSockets: 1 });
      t.after(() => agent.destroy());
      assert.equal(await connectionHeader(port, agent), 'keep-alive');
      const closed = listening.close(100);
      assert.equal(await connectionHeader(port, agent), 'close');
      await closed;
    },
  );
});

/** Sends a request with or without a client certificate; returns the response. */
function ask(port: number, client?: KeyPair): Promise<string> {
  const agent = new Agent({ ca: authority.certificate, servername: 'localhost', maxCachedSessions: 0 });
  const own = client && { cert: client.certificate, key: client.privateKey };
  return new Promise((resolve, reject) => {
    const sent = request({ ...own, agent, host: '127.0.0.1', port }, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Returns the Connection header of the response. */
function connectionHeader(port: number, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port }, (response) => {
      response.resume().once('end', () => resolve(response.headers.connection));
    });
    sent.on('error', reject);
    sent.end();
  });
}

suite('with CAs for clients, the admission endpoint', () => {
  async function arrange(t: TestContext) {
    const volume = await secretVolume(t);
    await volume.write(serving());
    const ca = await foreignAuthority(t, 'p256');
    const clientCaFile = path.join(volume.directory, 'ca.crt');
    await writeFile(clientCaFile, ca.certificate);
    return { ...(await serve(t, volume.directory, { clientCaFile })), ca, clientCaFile };
  }

  test('answers only clients with a certificate from one of them', async (t) => {
    const { port, ca } = await arrange(t);
    const others: Record<string, KeyPair | undefined> = {
      nothing: undefined,
      "another CA's": await clientOfForeign(t, await foreignAuthority(t, 'p256')),
      'the certificate of a server': makeServingCertificate(ca, ['api-server'], Date.now()),
      "the webhook's": serving(),
    };
    assert.equal(await ask(port, await clientOfForeign(t, ca)), 'ok');
    for (const [what, client] of Object.entries(others)) await assert.rejects(ask(port, client), what);
    assert.equal(await ask(port, await clientOfForeign(t, ca)), 'ok');
  });

  test('accepts new CAs without a restart, and ignores invalid ones', slow, async (t) => {
    const { port, ca, clientCaFile, taken } = await arrange(t);
    const next = await foreignAuthority(t, 'p256');
    const old = await clientOfForeign(t, ca);
    const young = await clientOfForeign(t, next);
    await writeFile(clientCaFile, ca.certificate + next.certificate);
    await until(() => ask(port, young).catch(() => ''), { describe: 'an answer', accept: (answer) => answer === 'ok' });
    assert.equal(await ask(port, old), 'ok');
    await writeFile(clientCaFile, '-----BEGIN CERTIFICATE-----');
    await sleep(100);
    assert.equal(await ask(port, young), 'ok');
    await writeFile(clientCaFile, next.certificate);
    const isRefused = () =>
      ask(port, old).then(
        () => false,
        () => true,
      );
    await until(isRefused, { describe: 'the old CA to be refused' });
    assert.equal(await ask(port, young), 'ok');
    assert.equal(taken.length, 1);
  });
});
