import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { connectCluster } from '../../support/cluster.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { startOwnReceiver } from './start-receiver.ts';

const cluster = await connectCluster();

test('a renewed certificate is served without a restart, and open connections stay open', async (t) => {
  const volume = await mountedSecret(t);
  const old = await volume.publish('old');
  const receiver = await startOwnReceiver(t, cluster.kubeconfig, volume.environment, { certificateRefreshMs: 200 });
  const open = await handshake(t, receiver.port);
  assert.equal(fingerprintOf(open), await old.fingerprint());
  // One that has asked for nothing would be closed after 10 s.
  assert.match(await ask(open), /^HTTP\/1\.1 4\d\d /);

  const renewed = await volume.publish('renewed');

  const expected = await renewed.fingerprint();
  await until(async () => fingerprintOf(await handshake(t, receiver.port)), {
    describe: 'a handshake with the renewed certificate',
    accept: (fingerprint) => fingerprint === expected,
  });
  assert.match(await ask(open), /^HTTP\/1\.1 4\d\d /);
});

/** A folder in which two files appear as the kubelet mounts a Secret: by a link that is replaced in one step. */
async function mountedSecret(t: TestContext) {
  const directory = await temporaryDirectory(t, 'receiver-certificate-');
  const link = join(directory, '..data');
  return {
    environment: { TLS_CERT_FILE: join(link, 'server.crt'), TLS_KEY_FILE: join(link, 'server.key') },
    publish: async (version: string) => {
      await mkdir(join(directory, version));
      const { certFile } = await createCertificates(join(directory, version));
      await symlink(version, `${link}_tmp`);
      await rename(`${link}_tmp`, link);
      return { fingerprint: async () => new X509Certificate(await readFile(certFile)).fingerprint256 };
    },
  };
}

async function handshake(t: TestContext, port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  // The receiver may end first.
  socket.on('error', () => {});
  return socket;
}

/** Sends a request that is refused, and gives the answer. */
async function ask(socket: TLSSocket): Promise<string> {
  socket.write('POST /webhook/a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n');
  const [answer] = await once(socket, 'data');
  return String(answer);
}

const fingerprintOf = (socket: TLSSocket) => socket.getPeerX509Certificate()?.fingerprint256;
