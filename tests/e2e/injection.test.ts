import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, before } from 'node:test';
import { stateInData } from '../../agent/volume/state/state-errors.ts';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { until } from '../support/until.ts';
import { apply, getJson, imageOf, kubectl } from './support/cluster.ts';
import { gatewaySync } from './support/gateway.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { untilInjectionWorks } from './support/injection.ts';
import { newRelease } from './support/release.ts';
import { createSteps } from './support/steps.ts';

const release = newRelease();
const { namespace } = release;
const site = `${release.name}-site`;
/** A separate namespace, because the git server doesn't meet the restricted standard. */
const source = `${release.name}-git`;
/** A namespace whose gateway reloads with a signal. */
const signalled = `${release.name}-signal`;
const step = createSteps(namespace, site, signalled);
let git: GitServer;

interface ContainerStatus {
  name: string;
  ready: boolean;
  restartCount: number;
  state: { terminated?: { exitCode: number; startedAt: string } };
}

interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  status: { phase: string; initContainerStatuses?: ContainerStatus[]; containerStatuses?: ContainerStatus[] };
}

before(async () => {
  for (const name of [namespace, site, signalled, source]) await kubectl('create', 'namespace', name);
  await kubectl('label', 'namespace', site, signalled, 'pod-security.kubernetes.io/enforce=restricted');
  await release.install();
  git = await startGitServer(source);
  await git.commit('config/motd', 'first');
  await apply(gatewaySync(site, git.url));
});

after(async () => {
  await kubectl('uncordon', '--selector=kubernetes.io/os=linux');
  await release.uninstall();
  await kubectl('delete', 'namespace', namespace, site, signalled, source, '--timeout=120s');
});

/** A pod that keeps the restricted Pod Security Standard before and after injection, and runs a command. */
function template(app: string, command: string[], spec: object = {}) {
  const { repository, tag } = imageOf('agent');
  const container = {
    name: 'gateway',
    image: `${repository}:${tag}`,
    command,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  };
  const user = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, runAsNonRoot: true };
  return {
    metadata: { labels: { app, kind: 'gateway' }, annotations: { 'sync.io/inject': 'true' } },
    spec: {
      securityContext: { ...user, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
      volumes: [{ name: 'data', emptyDir: {} }],
      ...spec,
    },
  };
}

// It exits immediately on SIGTERM.
const idle = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1; done'];

const workload = (kind: string, app: string, spec: object = {}) => {
  const selector = { matchLabels: { app } };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: app, namespace: site },
    spec: { selector, template: template(app, idle), ...spec },
  };
};

async function podsOf(selector: string): Promise<Pod[]> {
  return (await getJson<{ items: Pod[] }>('pods', '--namespace', site, '--selector', selector)).items;
}

function isWhole({ status }: Pod): boolean {
  const sidecar = status.initContainerStatuses?.find(({ name }) => name === 'sync-agent');
  return sidecar?.ready === true && status.containerStatuses?.every(({ ready }) => ready) === true;
}

const untilWhole = (count: number) =>
  until(() => podsOf('kind=gateway'), {
    describe: `${count} whole pods`,
    timeout: 120_000,
    interval: 500,
    accept: (pods) =>
      pods.length === count && pods.every((pod) => isWhole(pod) && pod.metadata.deletionTimestamp === undefined),
  });

/** Follows pods, by UID, until all have ended; then returns their containers' exit codes: `sync-agent=0 gateway=0`. */
async function watchExits(uids: string[]): Promise<{ ended(): Promise<ReadonlyMap<string, string>> }> {
  const exits = new Map<string, string>();
  const end = '{{.name}}={{with .state.terminated}}{{.exitCode}}{{end}}';
  const ends = (list: string) => `{{range .status.${list}}} ${end}{{end}}`;
  const line = `{{.metadata.uid}}${ends('initContainerStatuses')}${ends('containerStatuses')}{{"\\n"}}`;
  const selection = ['--namespace', site, '--selector=kind=gateway', '--watch', `--output=go-template=${line}`];
  const watcher = startGuarded((await findBinaries('kubectl')).kubectl, ['get', 'pods', ...selection], {
    output: 'pipe',
  });
  createInterface(watcher.child.stdout as Readable).on('line', (text) => {
    const [uid = '', ...ended] = text.split(' ');
    exits.set(uid, ended.join(' '));
  });
  await until(() => uids.every((uid) => exits.has(uid)), { describe: 'the watch to list all pods' });
  const isEnded = (codes = '') => /^\S+=\d+ \S+=\d+$/.test(codes);
  return {
    ended: async () => {
      // The watch can show the end of a pod after the pod is gone.
      await until(() => exits, {
        describe: 'the exit codes of all pods',
        accept: () => uids.every((uid) => isEnded(exits.get(uid))),
      });
      await watcher.stop();
      return exits;
    },
  };
}

const read = (pod: string) =>
  kubectl('exec', pod, '--container=gateway', '--namespace', site, '--', 'cat', '/data/config/motd');

step('the pods of a Deployment, a StatefulSet and a DaemonSet become ready with their files', async (t) => {
  await untilInjectionWorks(site, template('probe', idle));
  const started = performance.now();
  await apply(
    workload('Deployment', 'deployment', { replicas: 2 }),
    workload('StatefulSet', 'stateful', { serviceName: 'stateful' }),
    workload('DaemonSet', 'daemon'),
  );
  for (const { metadata } of await untilWhole(4)) assert.equal(await read(metadata.name), 'first');
  t.diagnostic(`four pods ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  await kubectl('wait', '--for=condition=Ready', 'gatewaysync/site', '--namespace', site, '--timeout=60s');
});

step('a Job starts with its files and completes, and its sidecar ends with it', async () => {
  const spec = { template: template('job', ['cat', '/data/config/motd'], { restartPolicy: 'Never' }), backoffLimit: 0 };
  await apply({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job', namespace: site }, spec });
  await kubectl('wait', '--for=condition=Complete', 'job/job', '--namespace', site, '--timeout=120s');
  assert.equal(await kubectl('logs', 'job/job', '--container=gateway', '--namespace', site), 'first');
  const [pod] = await podsOf('app=job');
  assert.equal(pod?.status.phase, 'Succeeded');
  assert.equal(pod?.status.initContainerStatuses?.[0]?.state.terminated?.exitCode, 0);
  await kubectl('delete', 'job/job', '--namespace', site, '--wait=true');
});

step('a Job with the image of the agent moves a state directory with the commands in the message', async () => {
  const { message } = stateInData({ data: 'www', usual: 'www/.sync-agent', place: 'state', isComplete: true });
  const commands = message.slice(message.indexOf(': test ') + 2);
  const before = 'cd /data; mkdir -p www/.sync-agent/trees/a; ln -s .sync-agent/trees/a www/site';
  const after = 'test -d state/trees/a; test -d www/site/; readlink www/.sync-agent';
  const moving = template('move', ['sh', '-ec', `${before}; ${commands}; ${after}`], { restartPolicy: 'Never' });
  const spec = { template: { ...moving, metadata: {} }, backoffLimit: 0 };
  await apply({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'move', namespace: site }, spec });
  await kubectl('wait', '--for=condition=Complete', 'job/move', '--namespace', site, '--timeout=120s');
  assert.equal((await kubectl('logs', 'job/move', '--namespace', site)).trim(), 'sync.io/state-directory=state');
  await kubectl('delete', 'job/move', '--namespace', site, '--wait=true');
});

step('a sidecar that exits is restarted, without effect on its gateway', async () => {
  const [before] = await podsOf('app=stateful');
  const name = before?.metadata.name ?? '';
  await kubectl('exec', name, '--container=sync-agent', '--namespace', site, '--', 'sh', '-c', 'kill 1');
  const restarts = (pod: Pod | undefined) => [
    pod?.status.initContainerStatuses?.[0]?.restartCount,
    pod?.status.containerStatuses?.[0]?.restartCount,
  ];
  await until(async () => (await podsOf('app=stateful'))[0], {
    describe: 'the sidecar to be back',
    timeout: 60_000,
    accept: (pod) => pod !== undefined && isWhole(pod) && restarts(pod)[0] === 1,
  });
  const [after] = await podsOf('app=stateful');
  assert.deepEqual(restarts(after), [1, 0]);
  assert.equal(after?.metadata.uid, before?.metadata.uid);
});

step('a rollout of a Deployment replaces all its pods', async () => {
  const before = (await podsOf('kind=gateway')).map(({ metadata }) => metadata.uid);
  for (const target of ['deployment/deployment', 'statefulset/stateful', 'daemonset/daemon']) {
    await kubectl('rollout', 'restart', target, '--namespace', site);
    await kubectl('rollout', 'status', target, '--namespace', site, '--timeout=120s');
  }
  const after = await untilWhole(4);
  assert.ok(after.every(({ metadata }) => !before.includes(metadata.uid)));
});

step('a node drains within the grace period of its pods, and the pods come back', async (t) => {
  const [node] = (await getJson<{ items: { metadata: { name: string } }[] }>('nodes')).items;
  const name = node?.metadata.name ?? '';
  const leaving = (await podsOf('app in (deployment, stateful)')).map(({ metadata }) => metadata.uid);
  const watched = await watchExits(leaving);
  const started = performance.now();
  const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--pod-selector=kind=gateway', '--timeout=60s'];
  await kubectl('drain', name, ...flags);
  t.diagnostic(`drained in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  await kubectl('uncordon', name);
  const exits = await watched.ended();
  // Containers that have to be killed exit with 137.
  assert.deepEqual(
    leaving.map((uid) => exits.get(uid)),
    leaving.map(() => 'sync-agent=0 gateway=0'),
  );
  for (const { metadata } of await untilWhole(4)) assert.equal(await read(metadata.name), 'first');
});

step('a pod that is created while the only controller restarts is delayed by a few seconds', async (t) => {
  const create = async (app: string) => {
    const started = performance.now();
    await apply(workload('Deployment', app, { replicas: 1 }));
    await until(() => podsOf(`app=${app}`), {
      describe: `the pod of ${app}`,
      timeout: 120_000,
      interval: 100,
      accept: ([pod, ...others]) => pod !== undefined && others.length === 0 && isWhole(pod),
    });
    return performance.now() - started;
  };
  const usualMs = await create('usual');
  const controller = ['--namespace', namespace, '--selector=app.kubernetes.io/component=controller'];
  const killed = performance.now();
  await kubectl('delete', 'pod', ...controller, '--grace-period=0', '--force');
  const creating = create('late');
  // It fails until the next pod exists.
  await until(() => kubectl('wait', '--for=condition=Ready', 'pod', ...controller, '--timeout=60s'), {
    describe: 'the next controller',
  });
  const downMs = performance.now() - killed;
  const lateMs = (await creating) - usualMs;
  const [usual, down, late] = [usualMs, downMs, lateMs].map((ms) => `${(ms / 1000).toFixed(1)} s`);
  t.diagnostic(`usually ${usual}; the controller was down for ${down}, and the pod late by ${late}`);
  // Twice the downtime, plus the delay until the node routes to the new controller. On a busy machine, the start of a pod
  // can take twice the usual time.
  assert.ok(lateMs < 2 * downMs + usualMs + 5_000, `${lateMs} ms`);
  await kubectl('delete', 'deployment', 'usual', 'late', '--namespace', site);
});

/** Has the same name as the agent's program. Its file contains a character for each SIGHUP. */
const reloading = `
  const { appendFileSync, writeFileSync } = require('node:fs');
  process.on('SIGHUP', () => appendFileSync('/tmp/reloads', '.'));
  writeFileSync('/tmp/reloads', '');
  process.on('SIGTERM', () => process.exit(0));
  setInterval(() => {}, 1_000);
`;

/** Creates a pod whose containers share their processes, delivers a commit, and waits for the signal. */
async function testSignal(name: string, { metadata, spec }: { metadata: object; spec: object }): Promise<void> {
  const pod = { metadata: { ...metadata, name, namespace: signalled }, spec: { ...spec, shareProcessNamespace: true } };
  // An earlier step killed the controller, and the node may still route to it.
  await until(() => apply({ apiVersion: 'v1', kind: 'Pod', ...pod }), {
    describe: 'the pod',
    timeout: 30_000,
    accept: () => true,
  });
  await kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--namespace', signalled, '--timeout=120s');
  const readIn = (file: string) =>
    kubectl('exec', name, '--container=gateway', '--namespace', signalled, '--', 'cat', file);
  await until(() => readIn('/tmp/reloads'), { describe: 'the gateway to handle signals', accept: () => true });
  const commit = await git.commit('config/motd', `for ${name}`);
  await kubectl(
    'annotate',
    'gatewaysync/site',
    '--namespace',
    signalled,
    '--overwrite',
    `sync.io/requested-ref=${commit}`,
  );
  await until(() => getJson<SyncReport>('syncreport', name, '--namespace', signalled), {
    describe: `a report of ${commit}`,
    interval: 500,
    accept: ({ status }) => status?.state === 'Synced' && status.commit === commit,
  });
  assert.equal(await readIn('/data/config/motd'), `for ${name}`);
  await until(() => readIn('/tmp/reloads'), {
    describe: 'one signal',
    interval: 500,
    accept: (reloads) => reloads === '.',
  });
}

step('a signal reaches the gateway in a pod whose containers share their processes', async () => {
  const signal = { name: 'SIGHUP', process: 'node' };
  const resource = gatewaySync(signalled, git.url) as { spec: object };
  await apply({ ...resource, spec: { ...resource.spec, gateway: { reload: { signal } } } });
  await testSignal('user', template('user', ['node', '-e', reloading]));
});

step('a signal reaches a gateway that runs as root, with a sidecar without capabilities', async () => {
  await kubectl('label', 'namespace', signalled, '--overwrite', 'pod-security.kubernetes.io/enforce=baseline');
  await release.install({ agent: { allowRoot: true } });
  const { metadata, spec } = template('root', ['node', '-e', reloading]);
  const containers = spec.containers.map((container) => ({ ...container, securityContext: {} }));
  await testSignal('root', { metadata, spec: { ...spec, containers, securityContext: { runAsUser: 0 } } });
});
