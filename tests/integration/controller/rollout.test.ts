import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { SyncRelease } from '../../../shared/api/sync-release.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { fittingWaves, isWithin, rolloutKey, waveOf } from '../../../shared/domain/rollout/waves.ts';
import { corePath, gatewaySyncPath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace, kubectl, mergePatch } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  request,
  untilCondition,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

const waves = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }];
const pods = { a: { tier: 'canary' }, b: { tier: 'shop' }, c: { tier: 'shop' } };

const read = ({ namespace, name }: Address): Promise<GatewaySync> =>
  callApi({ path: gatewaySyncPath(namespace, name) });

/** Acts as the agents of all pods until the test ends: each reports what the status assigns to it. */
class Agents {
  /** Commits that fail on all gateways. */
  readonly bad = new Set<string>();
  /** Successive commits of each pod. */
  readonly had: Record<string, string[]> = { a: [], b: [], c: [] };
  readonly #address: Address;
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(t: TestContext, address: Address) {
    this.#address = address;
    this.#ended = this.#run();
    t.after(() => this.stop());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const { metadata, status, spec } = await read(this.#address);
      const { rollout } = status ?? {};
      if (rollout && status?.observedGeneration === metadata.generation)
        await Promise.all(
          Object.entries(pods).map(([name, labels]) => this.#follow(name, labels, { spec, rollout, metadata })),
        );
      await sleep(100);
    }
  }

  async #follow(
    name: string,
    labels: Record<string, string>,
    { spec, rollout, metadata }: Pick<GatewaySync, 'spec' | 'metadata'> & { rollout: RolloutStatus },
  ): Promise<void> {
    const key = rolloutKey(name, name);
    const fits = fittingWaves(spec.rollout?.waves ?? [], new Map(Object.entries(labels)));
    const entry = rollout.admission[waveOf(fits, key, rollout.admission)];
    const isAdmitted = isWithin(key, entry?.admitted ?? '');
    const [commit, revision] = isAdmitted
      ? [rollout.commit, rollout.revision]
      : [rollout.stableCommit, rollout.stableRevision];
    if (commit === undefined || revision === undefined) return;
    const had = this.had[name] ?? [];
    if (had.at(-1) !== `${commit} ${revision}`) had.push(`${commit} ${revision}`);
    const isAssigned = isAdmitted || /^Roll/.test(rollout.phase);
    const wrong = this.bad.has(commit) ? ({ state: 'Error', hasFailed: true, message: 'no such file' } as const) : {};
    const { namespace } = this.#address;
    const generation = metadata.generation ?? 0;
    const assigned = isAssigned ? { rollout: rollout.number } : {};
    const release = { commit, revision, ref: 'main', ...assigned };
    await report({ namespace, name }, { ...release, generation, agentVersion: '0.1.0', ...wrong });
  }
}

/** Commits of the releases, in the order of their numbers. */
async function commitsIn({ namespace }: Address): Promise<(string | undefined)[]> {
  const { items } = await callApi<{ items: SyncRelease[] }>({ path: syncReleasePath(namespace) });
  const inOrder = items.toSorted((a, b) => a.spec.number - b.spec.number);
  return inOrder.map(({ spec }) => spec.sources[0]?.commit);
}

/** Messages of the events of a reason. */
async function eventsOf({ namespace }: Address, reason: string): Promise<string[]> {
  const { items } = await callApi<{ items: { reason: string; message: string }[] }>({
    path: corePath('events', namespace),
  });
  return items.filter((event) => event.reason === reason).map(({ message }) => message);
}

/** The same, after the first one is written. */
const untilEvents = (address: Address, reason: string): Promise<string[]> =>
  until(() => eventsOf(address, reason), { describe: `an event ${reason}`, accept: ({ length }) => length > 0 });

async function arrange(t: TestContext, rollout: object = { waves }, environment: Record<string, string> = {}) {
  const { repository, commit: first } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  const controller = await startController(t, address.namespace, environment);
  await applyGatewaySync(address, { repo: repository.url }, { rollout: { previewTimeout: '0s', ...rollout } });
  for (const [name, labels] of Object.entries(pods)) {
    const pod = injectedPod(address.namespace, name, 'app');
    await apply({ ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...labels } } });
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await mergePatch(`${corePath('pods', address.namespace, name)}/status`, { status });
  }
  const agents = new Agents(t, address);
  const commit = (n: number) => repository.commit({ files: { 'config/a': `${n}` } });
  const untilPhase = (phase: RolloutStatus['phase'], commit?: string) =>
    untilStatus(address, { rollout: { phase, ...(commit && { commit }) } });
  await untilPhase('Complete', first);
  // It is complete before the first gateway has it.
  await until(() => Object.values(agents.had).every(({ length }) => length > 0), { describe: 'the first commit' });
  // Without a report, the controller doesn't know that a gateway previews commits.
  await untilStatus(address, { gateways: { synced: Object.keys(pods).length } });
  return { address, repository, first, commit, agents, untilPhase, controller };
}

const shortOf = (agents: Agents, names: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(agents.had).map(([pod, had]) => [
      pod,
      had.map((entry) => names[entry.split(' ')[0] ?? ''] ?? entry),
    ]),
  );

suite('a rollout in waves', { concurrency: 4 }, () => {
  test('delivers a commit to the canary first, then to the rest, and records it', async (t) => {
    const { address, first, commit, agents, untilPhase } = await arrange(t, { waves: [{ ...waves[0], soak: '10s' }] });
    const second = await commit(2);
    await request(address, second);
    const soaking = await untilPhase('Soaking', second);
    assert.deepEqual(shortOf(agents, { [first]: 'first', [second]: 'second' }), {
      a: ['first', 'second'],
      b: ['first'],
      c: ['first'],
    });
    assert.equal(soaking.status?.rollout?.summary, 'canary 1/1, soaking 10s');
    assert.deepEqual(
      [condition(soaking, 'Ready')?.status, condition(soaking, 'RolledOut')?.status],
      ['Unknown', 'Unknown'],
    );
    await untilStatus(address, { rollout: { stableCommit: second } });
    const done = await untilCondition(address, 'Ready', 'True');
    assert.deepEqual(await commitsIn(address), [first, second]);
    assert.equal(condition(done, 'RolledOut')?.status, 'True');
    assert.match(
      await kubectl('get', 'gsync', 'app', '--namespace', address.namespace),
      /3\/3 synced +True +Synced +complete/,
    );
  });

  test('delivers a bad commit to the canary only, even if its status is lost', slow, async (t) => {
    const { address, first, commit, agents, untilPhase, controller } = await arrange(t);
    const path = gatewaySyncPath(address.namespace, address.name);
    await untilPhase('Complete');
    await controller.stop();
    const bad = await commit(2);
    agents.bad.add(bad);
    await mergePatch(`${path}/status`, { status: null });
    const mappings = [{ source: 'config', destination: 'other' }];
    await mergePatch(path, { spec: { sync: { profiles: { default: { mappings } } } } });
    await startController(t, address.namespace);
    await untilPhase('Stopped', bad);
    assert.deepEqual(shortOf(agents, { [first]: 'first', [bad]: 'bad' }), {
      a: ['first', 'bad'],
      b: ['first'],
      c: ['first'],
    });
    assert.deepEqual(await commitsIn(address), [first, bad]);
  });

  test('keeps the files of gateways if its status and its releases are lost', slow, async (t) => {
    const { address, first, commit, agents, untilPhase, controller } = await arrange(t);
    await untilPhase('Complete');
    await controller.stop();
    const bad = await commit(2);
    agents.bad.add(bad);
    await mergePatch(`${gatewaySyncPath(address.namespace, address.name)}/status`, { status: null });
    await callApi({ method: 'DELETE', path: syncReleasePath(address.namespace) });
    await startController(t, address.namespace);
    const stopped = await untilPhase('Stopped', bad);
    assert.equal(stopped.status?.rollout?.stableCommit, undefined);
    const names = { [first]: 'first', [bad]: 'bad' };
    assert.deepEqual(shortOf(agents, names), { a: ['first', 'bad'], b: ['first'], c: ['first'] });
    const good = await commit(3);
    await request(address, good);
    await untilStatus(address, { rollout: { phase: 'Complete', stableCommit: good } });
    assert.deepEqual(await commitsIn(address), [bad, good]);
  });

  test('stops if a gateway fails, notifies the requester, and rolls back on command', slow, async (t) => {
    const { address, first, commit, agents, untilPhase, controller } = await arrange(t);
    const bad = await commit(2);
    agents.bad.add(bad);
    await request(address, bad);
    const stopped = await untilPhase('Stopped', bad);
    assert.equal(stopped.status?.lastRequest?.outcome, 'Failed');
    assert.equal(condition(stopped, 'Ready')?.reason, 'RolloutStopped');
    assert.match(stopped.status?.rollout?.message ?? '', /failed on a \(no such file\) in wave/);
    await controller.stop();
    await startController(t, address.namespace);
    await kubectl('annotate', 'gsync', 'app', '--namespace', address.namespace, 'sync.io/rollback=previous');
    const back = await untilPhase('RolledBack', bad);
    assert.equal(back.status?.rollout?.stableCommit, first);
    assert.deepEqual(shortOf(agents, { [first]: 'first', [bad]: 'bad' }), {
      a: ['first', 'bad', 'first'],
      b: ['first'],
      c: ['first'],
    });
    assert.equal(back.status?.lastSyncCommit, bad);
    assert.deepEqual(await untilEvents(address, 'RollbackOrdered'), [
      'sync.io/rollback: previous was set (by the client kubectl-annotate)',
    ]);
    const good = await commit(3);
    await request(address, good);
    await untilPhase('Complete', good);
  });

  test('delivers an edit of spec.sync in the same waves, and keeps the previous revision', slow, async (t) => {
    const gated = { waves: [{ ...waves[0], approval: true }] };
    const { address, first, agents, untilPhase } = await arrange(t, gated);
    const before = (await read(address)).status?.rollout?.revision as string;
    const mappings = [{ source: 'config', destination: 'elsewhere' }];
    await mergePatch(gatewaySyncPath(address.namespace, address.name), {
      spec: { sync: { profiles: { default: { mappings } } } },
    });
    await untilStatus(address, { rollout: { nextCommit: first, nextRelease: 'app-2', waitsFor: 'Approval' } });
    const approve = (...changes: string[]) =>
      mergePatch(syncReleasePath(address.namespace, 'app-2'), {
        approvals: changes.map((each) => ({ changes: each, by: 'anna', at: '2026-11-22T12:00:00Z' })),
      });
    const others = '0'.repeat(32);
    await approve(others);
    await untilGatewaySync(address, 'the mention of other changes', ({ status }) =>
      Boolean(status?.rollout?.message?.includes(', because ')),
    );
    const { approvals, waitsFor } = (await read(address)).status?.rollout ?? {};
    assert.deepEqual([approvals, waitsFor], [undefined, 'Approval']);
    const approvedAt = performance.now();
    await approve(others, 'none');
    // Without the watch, the next reconcile would be half a minute later.
    await untilGatewaySync(address, 'a begun rollout', ({ status }) => status?.rollout?.release === 'app-2', 10_000);
    t.diagnostic(`began after ${Math.round(performance.now() - approvedAt)} ms`);
    const after = syncRevision((await read(address)).spec.sync);
    await untilStatus(address, { rollout: { phase: 'Complete', stableRevision: after } });
    assert.deepEqual(
      agents.had,
      Object.fromEntries(['a', 'b', 'c'].map((pod) => [pod, [`${first} ${before}`, `${first} ${after}`]])),
    );
    assert.deepEqual(await commitsIn(address), [first, first]);
    await untilPhase('Complete');
    assert.deepEqual(await untilEvents(address, 'RolloutApproved'), ['release app-2 was approved by anna']);
  });
});
