import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import {
  type KeyPair,
  makeAuthority,
  makeSelfSigned,
  makeServingCertificate,
} from '../../../../controller/certificates/make-certificate.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { openPort } from '../../../support/open-port.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const host = 'webhook.system.svc';
const hosts = [host, 'webhook.system.svc.cluster.local', '127.0.0.1', 'fd00::1'];
const now = Date.now();

/** Runs openssl(1) with PEM files of these names. */
async function openssl(t: TestContext, files: Record<string, string>, ...args: string[]): Promise<string> {
  const directory = await temporaryDirectory(t, 'openssl-');
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), text);
  return await runCommand('openssl', args, { cwd: directory });
}

/** Serves with a key pair, and returns the connection of a client that trusts these authorities. */
async function shakeHands(t: TestContext, { certificate, privateKey }: KeyPair, ca: string[]): Promise<string> {
  const server = createServer({ cert: certificate, key: privateKey });
  // The client disconnects before it has read the whole handshake.
  server.on('secureConnection', (socket) => socket.on('error', () => {}));
  const port = await openPort(t, server);
  const socket = connect({ port, host: '127.0.0.1', servername: host, ca });
  await once(socket, 'secureConnect');
  const protocol = socket.getProtocol() ?? '';
  socket.destroy();
  return protocol;
}

suite('a certificate that the controller makes', () => {
  const authority = makeAuthority(now);
  const serving = makeServingCertificate(authority, hosts, now);

  test('is valid for openssl, strictly by RFC 5280', async (t) => {
    const files = { 'ca.crt': authority.certificate, 'tls.crt': serving.certificate };
    const check = ['-x509_strict', '-check_ss_sig', '-purpose', 'sslserver', '-CAfile', 'ca.crt'];
    for (const name of ['-verify_hostname', '-verify_ip'])
      for (const host of hosts.filter((each) => /[:\d]$/.test(each) === (name === '-verify_ip')))
        assert.match(await openssl(t, files, 'verify', ...check, name, host, 'tls.crt'), /tls\.crt: OK/, host);
    await assert.rejects(openssl(t, files, 'verify', ...check, '-verify_hostname', 'other.system.svc', 'tls.crt'));
  });

  test('states its purposes', async (t) => {
    const files = { 'ca.crt': authority.certificate, 'tls.crt': serving.certificate };
    const text = (file: string) => openssl(t, files, 'x509', '-noout', '-text', '-in', file);
    const ca = await text('ca.crt');
    const leaf = await text('tls.crt');
    assert.match(ca, /Version: 3 [\s\S]*Basic Constraints: critical\s+CA:TRUE/);
    assert.match(ca, /Key Usage: critical\s+Certificate Sign, CRL Sign\n/);
    assert.match(leaf, /Version: 3 [\s\S]*NIST CURVE: P-256[\s\S]*Basic Constraints: critical\s+CA:FALSE/);
    assert.match(leaf, /Key Usage: critical\s+Digital Signature\n[\s\S]*TLS Web Server Authentication\n/);
    assert.match(leaf, /DNS:webhook\.system\.svc, DNS:webhook\.system\.svc\.cluster\.local, IP Address:127\.0\.0\.1, /);
    const identifier = /Subject Key Identifier: \n\s+(\S+)\n/.exec(ca)?.[1] ?? 'none';
    assert.ok(leaf.includes(`Authority Key Identifier: \n                ${identifier}\n`), leaf);
  });

  test('has a P-256 key and its own serial number', () => {
    const other = makeServingCertificate(authority, hosts, now);
    assert.notEqual(
      new X509Certificate(other.certificate).serialNumber,
      new X509Certificate(serving.certificate).serialNumber,
    );
    for (const { privateKey, certificate } of [authority, serving, other]) {
      const key = createPrivateKey(privateKey);
      assert.equal(key.asymmetricKeyDetails?.namedCurve, 'prime256v1');
      assert.ok(new X509Certificate(certificate).checkPrivateKey(key));
    }
  });

  test('is found among CAs of the same name, in any order', async (t) => {
    const others = [makeAuthority(now), makeAuthority(now)].map(({ certificate }) => certificate);
    for (const ca of [
      [authority.certificate, ...others],
      [...others, authority.certificate],
    ])
      assert.equal(await shakeHands(t, serving, ca), 'TLSv1.3');
    await assert.rejects(shakeHands(t, serving, others), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  });

  test('has the requested times, even beyond 2050', () => {
    for (const at of ['2049-12-31T00:00:00Z', '2051-01-01T00:00:00Z']) {
      const { validFrom, validTo } = new X509Certificate(makeSelfSigned(hosts, Date.parse(at)).certificate);
      assert.equal(Date.parse(validFrom), Date.parse(at) - 5 * 60_000);
      assert.equal(Date.parse(validTo), Date.parse(at) + 90 * 86_400_000);
    }
  });

  test('contains a host name of 80 letters among its names', async (t) => {
    const long = `${'a'.repeat(40)}.${'b'.repeat(39)}.svc`;
    const { certificate } = makeServingCertificate(authority, [long], now);
    assert.equal(new X509Certificate(certificate).checkHost(long), long);
    const files = { 'ca.crt': authority.certificate, 'tls.crt': certificate };
    assert.match(await openssl(t, files, 'verify', '-x509_strict', '-CAfile', 'ca.crt', 'tls.crt'), /OK/);
  });

  test("can be self-signed, and then isn't a CA", async (t) => {
    const alone = makeSelfSigned(hosts, now);
    const { ca, subject, issuer, publicKey } = new X509Certificate(alone.certificate);
    assert.deepEqual([ca, subject], [false, issuer]);
    assert.ok(new X509Certificate(alone.certificate).verify(publicKey));
    assert.equal(await shakeHands(t, alone, [alone.certificate]), 'TLSv1.3');
  });
});
