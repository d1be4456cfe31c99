import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { readEntryPoint } from '../../../scripts/images/read-entry-point.ts';
import { sealedAbout } from '../../../shared/api/inspection.ts';
import { INSPECT_ANNOTATION } from '../../../shared/api/names.ts';
import { openAnswer } from '../../../shared/io/inspection-answer.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { drawKeys } from '../../../shared/io/sealed-box.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { makeCgroup } from '../../support/memory-limit.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

/** Long paths need as much memory as three times as many files, and a third of the time to write. */
const FILES = 12_000;
/** By docs/how-to/sizing.md. */
const SUFFICIENT_MIB = 128;
const DIRECTORY = `${'line-of-a-plant-with-a-long-name'.repeat(5)}/`.repeat(2);

const server = await shareGitServer();

/** The flags of the image, in a cgroup with this memory limit in MiB. */
async function inContainer(t: TestContext, mib: number) {
  const entryPoint = await readEntryPoint('agent');
  const nodeArgs = entryPoint.slice(entryPoint.indexOf('node')).filter((argument) => argument.startsWith('--'));
  const cgroup = await makeCgroup(mib * 1024);
  t.after(() => cgroup?.remove());
  return { nodeArgs, cgroup: cgroup?.procs };
}

test("too many files for the agent's memory are an error that names the limit to raise, which then suffices", async (t) => {
  const small = await inContainer(t, 80);
  if (!small.cgroup) return t.skip('this machine allows no cgroups');
  const repository = await server.createRepository('many');
  const files = Array.from({ length: FILES }, (_, n) => [
    `config/${DIRECTORY}line-${n % 97}/views/${n}.json`,
    `{"n": ${n}}\n`,
  ]);
  const commit = await repository.commit({ files: Object.fromEntries(files) });
  const pod = await createGatewayPod(t, { onDisk: true });
  await pod.setSpec(repository.url);
  await pod.settle(commit);
  const env = { MALLOC_ARENA_MAX: '1', LOG_LEVEL: 'info' };
  const agent = await pod.start(env, small);
  const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
  const words = / \d+ files in \d+ directories.* spec\.agent\.resources\.limits\.memory/;
  assert.match(status?.message ?? '', words);
  assert.equal((await fetch(`${agent.healthUrl}/healthz`)).status, 200, 'the agent lives');
  await agent.stop();
  await pod.start(env, await inContainer(t, SUFFICIENT_MIB));
  await pod.untilSynced(commit);
  const delivered = await readdir(path.join(pod.data, 'config'), { recursive: true, withFileTypes: true });
  assert.equal(delivered.filter((entry) => entry.isFile()).length, FILES);
  t.diagnostic(`${FILES} files in ${SUFFICIENT_MIB} MiB`);

  // A question about as many files has to fit as well.
  await repository.branch('other', commit);
  const changed = files.map(([file = '']) => [file, `{"changed": ${'"x"'.padEnd(400)}}\n`]);
  await repository.commit({ branch: 'other', files: Object.fromEntries(changed) });
  for (const asked of [{ kind: 'diff', ref: 'other' }, { kind: 'drift' }]) {
    const keys = await drawKeys();
    const id = randomUUID();
    const expires = new Date(Date.now() + 120_000).toISOString();
    const question = { ...asked, id, pods: ['gateway-0'], key: keys.publicKey, expires };
    const annotations = { [INSPECT_ANNOTATION]: JSON.stringify(question) };
    await pod.client.mergePatch(gatewaySyncPath(pod.namespace, 'gw'), { metadata: { annotations } });
    const answered = await pod.untilReport('an answer', (report) => report.status?.inspection?.id === id);
    const about = sealedAbout({ namespace: pod.namespace, crName: 'gw', pod: 'gateway-0', id });
    const answer = await openAnswer(answered.status?.inspection?.sealed ?? '', { keys, about });
    assert.equal(answer?.problem, undefined);
    assert.equal((answer?.changes.length ?? 0) + (answer?.more ?? 0), asked.kind === 'diff' ? FILES : 0);
  }
});
