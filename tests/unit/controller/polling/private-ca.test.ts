import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { clientWith } from '../../../support/client-with.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { queryClient, queryTools, sshTools } from './query-world.ts';

const main = { prefixes: ['refs/heads/main'] };

/** Two servers with different CAs, a repository on the first one, and a query with any bundle. */
async function arrange(t: TestContext) {
  const [server, other] = await Promise.all([gitServerFor(t, { tls: true }), gitServerFor(t, { tls: true })]);
  const repository = await server.createRepository('app');
  const commit = await repository.commit({ files: { a: '1' } });
  const tools = queryTools();
  t.after(() => tools.http.close());
  const ask = (ca: string) => {
    const secret = { data: { ca: Buffer.from(ca).toString('base64') } };
    const client = clientWith({ getAs: async () => secret });
    const git = { repo: repository.url, caSecretRef: { name: 'ca', key: 'ca' } };
    return queryClient({ ...tools, client }, { namespace: 'default', git }).query(main);
  };
  const [ca, otherCa] = await Promise.all([server, other].map(({ caFile }) => readFile(caFile ?? '', 'utf8')));
  return { server, commit, ask, ca: ca as string, otherCa: otherCa as string };
}

suite('a private CA', { concurrency: true }, () => {
  test("is trusted, and no connection is reused for a bundle that doesn't contain it", async (t) => {
    const { commit, ask, ca, otherCa } = await arrange(t);
    const untrusted = { name: 'TerminalError', reason: 'CertificateNotTrusted' };
    for (let round = 0; round < 2; round += 1) {
      assert.equal((await ask(ca)).get('refs/heads/main'), commit);
      await assert.rejects(ask(otherCa), untrusted);
      assert.equal((await ask(`${otherCa}\n${ca}`)).get('refs/heads/main'), commit);
    }
  });

  test('can be an intermediate CA, which is enough for git', async (t) => {
    const { server, commit, ask } = await arrange(t);
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate()?.toString() ?? '';
    socket.destroy();
    assert.equal((await ask(certificate)).get('refs/heads/main'), commit);
  });

  test('of more than 64 KiB is rejected with a message before any connection', async (t) => {
    const { server, commit, ask, ca } = await arrange(t);
    await assert.rejects(ask(ca.padEnd(64 * 1024 + 1, '\n')), {
      name: 'TerminalError',
      reason: 'SecretTooLarge',
      message: /spec\.git\.caSecretRef .*64 KiB/,
    });
    assert.equal(server.requests.length, 0);
    assert.equal((await ask(ca.padEnd(64 * 1024, '\n'))).get('refs/heads/main'), commit);
  });
});

test('a CA for plain HTTP is rejected permanently with a message, because there is no certificate to check', async (t) => {
  const server = await gitServerFor(t);
  const { url: repo } = await server.createRepository('app');
  const tools = sshTools();
  t.after(() => tools.http.close());
  const git = { repo, caSecretRef: { name: 'ca', key: 'key' } };
  const query = queryClient(tools, { namespace: 'default', git }).query({ prefixes: ['HEAD'] });
  await assert.rejects(query, {
    name: 'TerminalError',
    reason: 'CAWithoutTLS',
    message: /^spec\.git\.caSecretRef .* spec\.git\.repo\b/,
  });
});
