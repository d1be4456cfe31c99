import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { type GitAccess, gitEnvironment } from '../../../../shared/io/git/git-environment.ts';
import { gitErrorOf } from '../../../../shared/io/git/git-error.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const SYSTEM = '/etc/ssl/certs';
const skip = await runCommand('unshare', ['--mount', 'sh', '-c', `mount --bind / ${SYSTEM}`]).then(
  () => false as const,
  () => 'this machine does not allow new namespaces, or has no folder of CAs',
);

test('git trusts the CAs of the system, and none of them if others are configured', { skip }, async (t) => {
  const server = await gitServerFor(t, { tls: true });
  const other = await gitServerFor(t, { tls: true });
  const { url, commit } = await server.createRepository('app');
  const head = await commit({ files: { a: '1' } });
  const system = await temporaryDirectory(t, 'system-cas-');
  await copyFile(server.caFile ?? '', path.join(system, 'server.pem'));
  await copyFile(server.caFile ?? '', path.join(system, 'ca-certificates.crt'));
  await runCommand('openssl', ['rehash', system]);
  const enter = `mount --bind ${system} ${SYSTEM} && exec git ls-remote ${url} HEAD`;
  const ask = (access: GitAccess) =>
    runCommand('unshare', ['--mount', 'sh', '-c', enter], {
      env: { PATH: process.env.PATH, ...gitEnvironment({ ...access, origin: server.url }) },
    });

  assert.match(await ask({}), new RegExp(head));
  assert.match(await ask({ caFile: server.caFile }), new RegExp(head));
  // Each version of curl has its own words for that.
  await assert.rejects(ask({ caFile: other.caFile }), ({ stderr }) => gitErrorOf(stderr).code === 'git.certificate');
});
