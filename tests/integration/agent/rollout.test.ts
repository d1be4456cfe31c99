import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { ALL, NO_GATEWAY } from '../../../shared/domain/rollout/waves.ts';
import { groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
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

const revisionsOf = ({ namespace }: GatewayPod) => groupPath('apps/v1', 'controllerrevisions', namespace);

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

  test('an agent waits for a revision that is missing, is foreign, or has other content', slow, async (t) => {
    const { repository, first, pod, play, env, agent, next } = await startRollout(t, 'revisions');
    await agent.stop();
    await empty(pod);
    const sound = await play.controllerRevision();
    await pod.setSpec(repository.url, specOf([{ ...config, destination: 'other' }]));
    await play.roll({ ...next, revision: await play.revision(), admitted: { canary: ALL, rest: NO_GATEWAY } });
    const { metadata } = sound;
    const evil = { profiles: { default: { mappings: [{ ...config, destination: 'evil' }] } } };
    // An existing owner: objects whose owner is gone are garbage-collected.
    const outsider = { apiVersion: 'v1', kind: 'Pod', name: 'gateway-0', uid: pod.uid };
    const wrong: [changes: object, words: RegExp][] = [
      [{ data: { sync: evil } }, / spec\.sync .* name\b/],
      [{ data: { other: 1 } }, / no spec\.sync\b/],
      [{ metadata: { ...metadata, ownerReferences: [outsider] } }, / GatewaySync\b/],
    ];
    for (const [changes, words] of wrong) {
      await pod.client.create(revisionsOf(pod), { ...sound, ...changes });
      const misled = await pod.start(env);
      await untilPending(pod, words);
      await misled.stop();
      await pod.client.delete(`${revisionsOf(pod)}/${metadata.name}`);
    }
    await pod.start(env);
    await untilPending(pod, new RegExp(`the ControllerRevision ${pod.namespace}/${metadata.name} does not exist`));
    assert.deepEqual(await pod.files(), {});
    await pod.client.create(revisionsOf(pod), sound);
    await pod.untilSynced(first);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });
});
