import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { slow } from '../../support/depth.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

/** A repository at a host with its private CA, and a pod that follows it. */
async function arrange(t: TestContext) {
  const server = await gitServerFor(t, { tls: true });
  const repository = await server.createRepository('site');
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url);
  await pod.settle(commit);
  const directory = path.dirname(pod.data);
  return { repository, commit, pod, directory, ca: server.caFile ?? '' };
}

const isUntrusted = ({ status }: SyncReport) => status?.state === 'Error' && status.reason === 'CertificateNotTrusted';

test('the agent fetches from a server with a CA of the installation, as soon as its file exists', async (t) => {
  const { repository, commit, pod, directory, ca } = await arrange(t);
  const GIT_EXTRA_CA_FILE = path.join(directory, 'ca.crt');
  await pod.start({ GIT_EXTRA_CA_FILE, MEMORY_PATH: directory });
  await pod.untilReport('a certificate that is not trusted', isUntrusted);
  await copyFile(ca, GIT_EXTRA_CA_FILE);
  const next = await repository.commit({ files: { 'config/a': '2' } });
  assert.notEqual(next, commit);
  await pod.settle(next);
  await pod.untilSynced(next);
  assert.deepEqual(await pod.files(), { 'config/a': '2' });
});

test('the CA that a resource names is the only one that is trusted', slow, async (t) => {
  const { pod, directory, ca } = await arrange(t);
  const other = await gitServerFor(t, { tls: true });
  await pod.start({ GIT_EXTRA_CA_FILE: ca, GIT_CA_FILE: other.caFile ?? '', MEMORY_PATH: directory });
  await pod.untilReport('a certificate that is not trusted', isUntrusted);
});
