import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, suite, test } from 'node:test';
import { planOfPreview } from '../../../cli/fleet/plan.ts';
import { agentClusterRole } from '../../../scripts/testbed/agent-role.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { rolloutKey } from '../../../shared/domain/rollout/waves.ts';
import { syncReleasePath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { type Scope, scopeOfSuite } from '../../support/clean-up.ts';
import { apply, callApi, createNamespace, kubectl, mergePatch } from '../../support/cluster.ts';
import { byDepth, slow } from '../../support/depth.ts';
import { gatewayPod, markReady } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, push, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { controllerStarter, gatewayStarter } from '../../support/start-path.ts';
import { until } from '../../support/until.ts';

const GATEWAYS = byDepth(6, 6, 40);
/** Number of programs that start at once, because the start of a program uses a core. */
const STARTING = 4;
/** Number of gateways that a commit changes. */
const CHANGED = 3;
const filesOf = (gateways: string[], text: string): Record<string, string> =>
  Object.fromEntries(gateways.map((name) => [`sites/${name}/a.txt`, text]));

/** A file is absent for a moment while the agent replaces it. */
function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

const pausedProfile = (paused: boolean) => ({ sync: { profiles: { quiet: { paused } } } });

interface Gateway {
  name: string;
  data: string;
}

/**
 * Gateways, each with its own directory of the repository. The first wave needs an approval, and its first gateway has
 * the profile `quiet`.
 */
async function startFleet(t: Scope) {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const address = { namespace: await createNamespace(t), name: 'app' };
  // In the order in which a rollout admits them.
  const names = Array.from({ length: GATEWAYS }, (_, index) => `gateway-${index}`).sort((a, b) =>
    rolloutKey(a, a) < rolloutKey(b, b) ? -1 : 1,
  );
  const first = await repository.commit({ files: filesOf(names, 'first') });
  await apply(agentClusterRole);
  await (await controllerStarter(t, address.namespace)).start();
  const mappings = [{ source: 'sites/{{ .PodName }}', destination: 'site', template: true }];
  const spec = {
    sync: { profiles: { default: { mappings }, quiet: { mappings } } },
    rollout: { waves: [{ name: 'canary', gateways: 2, approval: true }] },
  };
  await applyGatewaySync(address, { repo: repository.url }, spec);
  const gateways: Gateway[] = [];
  const startOne = async (name: string) => {
    const annotations = name === names[0] ? { 'sync.io/profile': 'quiet' } : {};
    const pod = gatewayPod(address.namespace, name, annotations);
    const gateway = await gatewayStarter(t, address.namespace, { name, pod });
    await gateway.start();
    await markReady(address.namespace, name);
    gateways.push({ name, data: gateway.data });
  };
  for (let start = 0; start < names.length; start += STARTING) {
    await Promise.all(names.slice(start, start + STARTING).map(startOne));
  }
  const untilStatus = async (describe: string, accept: (status: NonNullable<GatewaySync['status']>) => boolean) => {
    const isAccepted = ({ status }: GatewaySync) => status !== undefined && accept(status);
    const { status } = await untilGatewaySync(address, describe, isAccepted, 180_000);
    return status ?? {};
  };
  await untilStatus('all synced', ({ gateways: counts }) => counts?.synced === GATEWAYS);
  const reportItems = async () =>
    (await callApi<{ items: SyncReport[] }>({ path: syncReportPath(address.namespace) })).items;
  const reports = async () => (await reportItems()).flatMap(({ status }) => status ?? []);
  const fileAt = (name: string, file: string) =>
    path.join(gateways.find((gateway) => gateway.name === name)?.data ?? '', file);
  const contents = () => names.map((name) => contentOf(fileAt(name, 'site/a.txt')));
  /** Returns the failures of the plan that kubectl stoker shows. */
  const failing = async (resource: GatewaySync) => {
    const { preview } = resource.status?.rollout ?? {};
    const plan = preview && planOfPreview(resource, preview, { reports: await reportItems() });
    return plan?.failing.map(({ why, gateways: group }) => ({ why, pods: group.map(({ pod }) => pod) }));
  };
  /** Pushes a commit. */
  const start = async (files: Record<string, string>) => {
    const commit = await repository.commit({ files });
    const startedAt = performance.now();
    await push(address, 'main');
    return { commit, seconds: () => (performance.now() - startedAt) / 1000 };
  };
  return { address, names, first, start, untilStatus, reports, fileAt, contents, failing };
}

suite('a commit that gateways preview', () => {
  const scope = scopeOfSuite();
  let fleet: Awaited<ReturnType<typeof startFleet>>;
  before(async () => {
    fleet = await startFleet(scope);
  });

  test('that changes no gateway needs neither a wave nor an approval', slow, async (t) => {
    const { names, start, untilStatus, reports, contents } = fleet;
    const former = contents();
    const { commit, seconds } = await start({ 'README.md': 'read me' });
    const status = await untilStatus('the commit on all gateways', ({ rollout, gateways }) => {
      return rollout?.phase === 'Complete' && rollout.stableCommit === commit && gateways?.synced === GATEWAYS;
    });
    t.diagnostic(`complete after ${seconds().toFixed(1)} s`);
    assert.deepEqual([status.rollout?.admittedAt, status.rollout?.approvals], [undefined, undefined]);
    assert.deepEqual(
      (await reports()).map(({ unchangedAt }) => unchangedAt),
      names.map(() => commit),
    );
    assert.deepEqual(contents(), former);
  });

  test('reaches exactly the gateways that it changes, without an approval if the first wave is unchanged', async (t) => {
    const { names, start, untilStatus, reports, contents } = fleet;
    const changed = names.slice(-CHANGED);
    const former = contents();
    const { commit, seconds } = await start(filesOf(changed, 'second'));
    await until(reports, {
      describe: 'previews of all gateways',
      interval: 100,
      accept: (all) => all.every(({ preview, commit: applied }) => [preview?.commit, applied].includes(commit)),
    });
    t.diagnostic(`previewed by all after ${seconds().toFixed(1)} s`);
    const unchanged = (await reports()).filter(({ unchangedAt }) => unchangedAt === commit);
    assert.equal(unchanged.length, GATEWAYS - CHANGED);
    const status = await untilStatus('the commit on the changed gateways', ({ rollout }) => {
      return rollout?.phase === 'Complete' && rollout.stableCommit === commit;
    });
    // The first wave, which needs an approval, was skipped.
    assert.equal(status.rollout?.approvals, undefined);
    assert.deepEqual(contents(), [...former.slice(0, -CHANGED), ...changed.map(() => 'second')]);
  });

  test('that changes only a paused gateway waits for the approval, also after the pause', slow, async () => {
    const { address, names, start, untilStatus, contents } = fleet;
    const order = (...args: string[]) => kubectl(...args, '--namespace', address.namespace);
    const pause = (paused: boolean) =>
      order('patch', 'gsync', 'app', '--type=merge', '-p', JSON.stringify({ spec: pausedProfile(paused) }));
    const [paused = ''] = names;
    const former = contents();
    await pause(true);
    await untilStatus('a paused gateway', ({ gateways }) => gateways?.paused === 1);
    const { commit } = await start(filesOf([paused], 'third'));
    await untilStatus('a previewed commit', ({ rollout }) => rollout?.preview?.endedAt !== undefined);
    await pause(false);
    const { rollout } = await untilStatus('a resumed gateway', ({ gateways, rollout: { preview } = {} }) => {
      return gateways?.paused === 0 && preview?.total === GATEWAYS && preview.reported === GATEWAYS;
    });
    assert.deepEqual([rollout?.nextCommit, rollout?.waitsFor], [commit, 'Approval']);
    assert.deepEqual(contents(), former);
    const approvals = [{ changes: rollout?.preview?.changes, by: 'anna', at: '2026-11-22T12:00:00Z' }];
    await mergePatch(syncReleasePath(address.namespace, rollout?.nextRelease), { approvals });
    await untilStatus('the commit', (status) => status.rollout?.stableCommit === commit);
    assert.deepEqual(contents(), ['third', ...former.slice(1)]);
  });

  test('is stopped by gateways that the plan shows, and planned again after a retry', slow, async () => {
    const { address, names, start, untilStatus, fileAt, failing } = fleet;
    const [last = ''] = names.slice(-1);
    const foreign = fileAt(last, 'site/b.txt');
    mkdirSync(foreign);
    writeFileSync(path.join(foreign, 'other'), 'not from the repository');
    const { commit } = await start({ [`sites/${last}/b.txt`]: 'first' });
    const stopped = await untilGatewaySync(
      address,
      'a stopped rollout',
      (resource) => condition(resource, 'RolledOut')?.reason === 'PreviewFailed',
      180_000,
    );
    const [group, ...others] = (await failing(stopped)) ?? [];
    assert.deepEqual([group?.pods, others], [[last], []]);
    assert.match(group?.why ?? '', /site\/b\.txt/);
    rmSync(foreign, { recursive: true });
    await kubectl('annotate', 'gsync', 'app', '--namespace', address.namespace, `sync.io/retry-rollout=${commit}`);
    await untilStatus('the commit', ({ rollout }) => rollout?.phase === 'Complete' && rollout.stableCommit === commit);
    assert.equal(contentOf(foreign), 'first');
  });
});
