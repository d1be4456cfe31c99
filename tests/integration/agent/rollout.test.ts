import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { ALL, NO_GATEWAY } from '../../../shared/domain/rollout/waves.ts';
import { syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { slow } from '../../support/depth.ts';
import { gitServerFor, shareGitServer } from '../../support/git-server-for.ts';
import { createGatewayPod, type GatewayPod } from './support/gateway-pod.ts';
import { playRollout } from './support/play-rollout.ts';

const server = await shareGitServer();

const canary = { name: 'canary', selector: { matchLabels: { tier: 'canary' } } };
const config = { source: 'config', destination: 'config' };
const specOf = (mappings: object[] = [config], waves: object[] = [canary]) => ({
  sync: { profiles: { default: { mappings, syncPeriod: 5 } } },
  rollout: { waves },
});

const untilFollows = (pod: GatewayPod, ref: string) =>
  pod.untilReport(`a report of ${ref}`, ({ status }) => status?.state === 'Synced' && status.ref === ref);
const untilPending = (pod: GatewayPod, words: RegExp) =>
  pod.untilReport(
    `a report of ${words}`,
    ({ status }) => status?.state === 'Pending' && words.test(status.message ?? ''),
  );

const releasesOf = ({ namespace }: GatewayPod) => syncReleasePath(namespace);

async function empty({ data, repo }: GatewayPod): Promise<void> {
  for (const directory of [data, repo]) await rm(directory, { recursive: true, force: true });
  await mkdir(data);
}

/** A gateway of the wave `rest`, which has the first of two commits, and a rollout of the second one to the canaries. */
async function startRollout(t: TestContext, name: string, host = server) {
  const repository = await host.createRepository(name);
  const first = await repository.commit({ files: { 'config/a': '1' } });
  const second = await repository.commit({ files: { 'config/a': '2', 'config/b': '2' } });
  const pod = await createGatewayPod(t);
  const play = playRollout(pod);
  await pod.setSpec(repository.url, specOf());
  const revision = await play.revision();
  const env = await play.label();
  const both = { revision, stableRevision: revision };
  const complete = { number: 1, phase: 'Complete', commit: first, stableCommit: first, ...both } as const;
  const next = { number: 2, phase: 'Progressing', commit: second, stableCommit: first, ...both } as const;
  await play.roll({ ...complete, admitted: { canary: ALL, rest: ALL } });
  const agent = await pod.start(env);
  await untilFollows(pod, 'next');
  await play.roll({ ...next, admitted: { canary: ALL, rest: NO_GATEWAY } });
  await untilFollows(pod, 'stable');
  return { repository, first, second, pod, play, env, agent, next };
}

suite('while changes go in waves', () => {
  test("a gateway that isn't admitted never gets the new commit", async (t) => {
    const { repository, first, second, pod, play, env, agent, next } = await startRollout(t, 'outside');
    const old = { 'config/a': '1' };
    assert.deepEqual(await pod.files(), old);
    const admitted = { canary: ALL, rest: NO_GATEWAY };

    // Not after a restart.
    await agent.stop();
    await play.roll({ ...next, admitted, stableRef: 'restarted' });
    const restarted = await pod.start(env);
    await untilFollows(pod, 'restarted');
    assert.deepEqual(await pod.files(), old);

    // Not with an empty disk.
    await restarted.stop();
    await empty(pod);
    await play.roll({ ...next, admitted, stableRef: 'emptied' });
    const emptied = await pod.start(env);
    await untilFollows(pod, 'emptied');
    assert.deepEqual(await pod.files(), old);

    // Not while the status is about other waves, nor while the controller has not seen the spec.
    await emptied.stop();
    await empty(pod);
    await pod.setSpec(repository.url, specOf([config], [{ ...canary, name: 'first' }]));
    const blind = await pod.start(env);
    await untilPending(pod, /latest change/);
    await play.roll({ ...next, admitted: { canary: ALL, rest: ALL } });
    await untilPending(pod, /latest waves/);
    assert.deepEqual(await pod.files(), {});
    assert.equal((await fetch(`${blind.healthUrl}/readyz`)).status, 503, 'a gateway with no files waits');

    await play.roll({ ...next, admitted: { first: ALL, rest: NO_GATEWAY } });
    await untilFollows(pod, 'stable');
    assert.deepEqual(await pod.files(), old);
    await play.roll({ ...next, admitted: { first: ALL, rest: ALL } });
    await pod.untilSynced(second);
    assert.deepEqual(await pod.files(), { 'config/a': '2', 'config/b': '2' });
    assert.notEqual(first, second);
  });

  test('a rollback needs no git server, even for a restarted agent', slow, async (t) => {
    const host = await gitServerFor(t);
    const { first, second, pod, play, env, agent, next } = await startRollout(t, 'offline', host);
    const allWaves = { canary: ALL, rest: ALL };
    await play.roll({ ...next, admitted: allWaves });
    await pod.untilSynced(second);
    await host.stop();
    const back = { ...next, number: 3, phase: 'RollingBack' } as const;
    await play.roll({ ...back, admitted: allWaves });
    await pod.untilSynced(first);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
    await agent.stop();
    await play.roll({ ...next, number: 4, admitted: allWaves });
    const again = await pod.start(env);
    await pod.untilSynced(second);
    assert.deepEqual(await pod.files(), { 'config/a': '2', 'config/b': '2' });
    await again.stop();
    await play.roll({ ...back, number: 5, admitted: allWaves });
    await pod.start(env);
    await pod.untilSynced(first);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });

  test('an agent waits for a release that is missing, has no name, or has other content', slow, async (t) => {
    const { repository, first, pod, play, env, agent, next } = await startRollout(t, 'releases');
    const stored = await play.releaseOf(first, 1);
    const { name } = stored.metadata;
    await pod.setSpec(repository.url, specOf([{ ...config, destination: 'other' }]));
    const blocked = { ...next, revision: await play.revision(), admitted: { canary: ALL, rest: NO_GATEWAY } };
    // An earlier controller names no releases.
    await play.roll(blocked);
    await agent.stop();
    const restarted = await pod.start(env);
    await untilPending(pod, /names no SyncRelease: upgrade the controller/);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });

    await restarted.stop();
    await empty(pod);
    await play.roll({ ...blocked, stableRelease: name });
    const evil = { profiles: { default: { mappings: [{ ...config, destination: 'evil' }] } } };
    await pod.client.create(releasesOf(pod), { ...stored, spec: { ...stored.spec, sync: evil } });
    const misled = await pod.start(env);
    await untilPending(pod, /another spec\.sync than /);
    await misled.stop();
    await pod.client.delete(syncReleasePath(pod.namespace, name));

    await pod.start(env);
    await untilPending(pod, new RegExp(`the SyncRelease ${pod.namespace}/${name} does not exist`));
    assert.deepEqual(await pod.files(), {});
    await pod.client.create(releasesOf(pod), stored);
    await pod.untilSynced(first);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });
});
