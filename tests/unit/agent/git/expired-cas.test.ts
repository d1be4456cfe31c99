import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { createCertificates } from '../../../../scripts/testbed/certificates.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { deliver, failuresOf, queryMain } from '../support/both-programs.ts';

/** A server of a private CA, that CA, and the same CA as it was before it was renewed: expired. */
async function arrange(t: TestContext) {
  const directory = await temporaryDirectory(t, 'expired-');
  const certificates = await createCertificates(directory);
  const server = await gitServerFor(t, { tls: true, certificates });
  const { caFile, caKeyFile } = certificates;
  const expired = await runCommand('openssl', ['x509', '-in', caFile, '-signkey', caKeyFile, '-days', '-1']);
  return { server, ca: await readFile(caFile, 'utf8'), expired };
}

suite('an expired CA', () => {
  test("is named by controller and agent, instead of the server's certificate", async (t) => {
    const { server, expired } = await arrange(t);
    const { url } = await server.createRepository('x');
    for (const { message, reason } of await failuresOf(t, url, { ca: expired })) {
      assert.match(message, /^[^;]* spec\.git\.caSecretRef [^;]*\d{4}-\d\d-\d\d; /);
      assert.equal(reason, 'CertificateNotTrusted');
    }
  });

  test('is mentioned next to a valid one that did not sign the certificate', async (t) => {
    const { server, expired } = await arrange(t);
    const other = await arrange(t);
    const { url } = await server.createRepository('x');
    for (const { message } of await failuresOf(t, url, { ca: `${other.ca}\n${expired}` }))
      assert.match(message, /^[^;]*; [^;]*; [^;]* spec\.git\.caSecretRef [^;]*\d{4}-\d\d-\d\d; /);
  });

  test("does no harm next to its renewal, and isn't blamed for a wrong host name", slow, async (t) => {
    const { server, ca, expired } = await arrange(t);
    const { url: repo, commit } = await server.createRepository('x');
    const tip = await commit({ files: { a: '1' } });
    for (const bundle of [`${ca}\n${expired}`, `${expired}\n${ca}`]) {
      assert.equal(await queryMain(t, repo, { ca: bundle }), tip);
      assert.deepEqual(await deliver(t, { repo, commit: tip }, { ca: bundle }), { a: '1' });
    }
    const other = await gitServerFor(t, { tls: true });
    const { url } = await other.createRepository('x');
    for (const { message } of await failuresOf(t, url, { ca })) assert.doesNotMatch(message, /\d{4}-\d\d-\d\d/);
  });
});
