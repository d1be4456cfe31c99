import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { effectOf } from '../../../cli/fleet/plan-words.ts';
import { drawLegend } from '../../../cli/terminal/bars.ts';
import { inkFor } from '../../../cli/terminal/ink.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { readyStatus } from '../../testbed/gateway-pod-spec.ts';
import { step } from '../../testbed/step.ts';
import { until } from '../../testbed/until.ts';
import { bold, dim, headline, ink, say, showPlugin } from '../console.ts';
import { BRANCH, NAMESPACE, RESOURCE } from '../objects.ts';
import { type Cluster, type Gateway, type Stage, startGateway, startStage, stayUp } from '../start-stage.ts';
import { postPush } from '../watch-delivery.ts';
import { drawAnimation, type Scene } from './animation.ts';
import { type DrawnWave, drawFrame, type Frame, followRollout } from './follow-rollout.ts';
import { COMMITS, FILE, podObjects, rolloutObject, SOAK_SECONDS, WAVES, WITHOUT_PREVIEW } from './objects.ts';

interface Running extends Stage {
  gateways: Gateway[];
}

/**
 * Shows the plan of a good commit, and rolls it out to six gateways in waves. A bad one stops in the first wave and is
 * rolled back. Writes both rollouts as an animated SVG to the file `record`.
 */
export async function runRollout({ once, record }: { once: boolean; record?: string }): Promise<void> {
  const stage = await startStage({ files: COMMITS.first.files, gatewaySync: rolloutObject });
  const gateways = await showGateways(stage);
  const running = { ...stage, gateways };
  try {
    const good = await showGood(running);
    const bad = await showBad(running);
    headline('The result in kubectl stoker');
    for (const command of ['status', 'history']) await showPlugin(stage.cluster.kubeconfig, command, RESOURCE);
    console.log(`\n  ${bold(describe(good, bad))}`);
    if (record !== undefined) await writeFile(record, animationOf(good, bad));
    if (once) return;
    headline('Still running: try it');
    say(`delivered files       ${stage.cluster.dir}/pods/*/data/config`);
    await stayUp(stage, ['get gsync --watch', 'get gsync,sreport,events', `describe gsync ${RESOURCE}`]);
  } finally {
    await Promise.all(gateways.map(({ agent }) => agent.stop()));
    await stage.stop();
  }
}

async function showGateways({ cluster, resource }: Stage): Promise<Gateway[]> {
  headline('The gateways');
  say(`${podObjects.length} pods, in waves:`);
  for (const { name, gateways = 'with the label tier=canary', maxConcurrent } of WAVES)
    say(
      `  ${name.padEnd(7)} ${gateways}${maxConcurrent ? `, ${maxConcurrent} at a time` : ''}, then ${SOAK_SECONDS} s of soak`,
    );
  say('  rest    all others');
  const gateways = await step('Starting the agents', () =>
    Promise.all(podObjects.map((pod) => startReady(cluster, pod))),
  );
  const isSynced = ({ status }: Partial<GatewaySync> = {}) =>
    status?.gateways?.synced === podObjects.length && status.rollout?.phase === 'Complete';
  await until('the first sync', () => isSynced(resource()), { timeoutMs: 60_000 });
  return gateways;
}

/** Marks the pod as ready, because there is no kubelet. */
async function startReady(cluster: Cluster, pod: (typeof podObjects)[number]): Promise<Gateway> {
  const gateway = await startGateway(cluster, pod);
  const place = corePath('pods', NAMESPACE, pod.metadata.name);
  await cluster.client.mergePatch(`${place}/status`, { status: readyStatus });
  return gateway;
}

/** The good commit, its rollout, and its effect according to the previews. */
interface Good {
  commit: string;
  frames: Frame[];
  plan: string;
}

async function showGood(running: Running): Promise<Good> {
  headline('A good commit');
  const commit = await push(running, COMMITS.good);
  const plan = await showPlan(running, commit);
  headline('The same commit in waves');
  for (const line of drawLegend(ink)) say(line);
  const frames = await followRollout(
    running.resource,
    commit,
    ({ phase, waves }) => phase === 'Complete' && gatewaysOf(waves).every(({ look }) => look === 'new'),
  );
  for (const { data, pod } of running.gateways) await checkFile(data, { site: pod.metadata.name, logLevel: 'warn' });
  return { commit, plan, frames };
}

/** Shows the changes that the gateways preview, and approves the commit. Returns the effect in one clause. */
async function showPlan({ cluster, resource }: Running, commit: string): Promise<string> {
  const findPreview = () => {
    const { preview } = resource()?.status?.rollout ?? {};
    return preview?.commit === commit && preview.reported === podObjects.length ? preview : undefined;
  };
  await until('the previews of all gateways', () => findPreview() !== undefined, { timeoutMs: 60_000 });
  const { total = 0, unchanged = 0, failing = 0, files = 0 } = findPreview() ?? {};
  await showPlugin(cluster.kubeconfig, 'plan', RESOURCE);
  await showPlugin(cluster.kubeconfig, 'approve', RESOURCE, '--commit', commit, '--yes');
  const changed = total - unchanged - failing;
  return effectOf({ gateways: total, changed, unchanged, failing, done: 0, silent: 0, skipped: 0, files });
}

/** The bad commit, its rollout, and the gateways on which it failed. */
interface Bad {
  commit: string;
  frames: Frame[];
  failed: string[];
}

async function showBad(running: Running): Promise<Bad> {
  headline('A bad commit: a missing brace');
  say('Previews are off for this commit: otherwise it would not reach any gateway.');
  await running.cluster.client.mergePatch(gatewaySyncPath(NAMESPACE, RESOURCE), WITHOUT_PREVIEW);
  const before = await Promise.all(running.gateways.map(stateOnDisk));
  const commit = await push(running, COMMITS.bad);
  const frames = await followRollout(
    running.resource,
    commit,
    ({ phase, waves }) => phase === 'RolledBack' && gatewaysOf(waves).every(({ look }) => look === 'old'),
  );
  const failed = frames.map(failedIn).find((names) => names.length > 0);
  if (!failed) throw new Error('the bad commit did not fail');
  const after = await Promise.all(running.gateways.map(stateOnDisk));
  for (const [index, { pod, data }] of running.gateways.entries()) {
    const { name } = pod.metadata;
    if (!failed.includes(name) && before[index] !== after[index]) throw new Error(`files of ${name} changed`);
    await checkFile(data, { site: name, logLevel: 'warn' });
  }
  return { commit, frames, failed };
}

const failedIn = ({ picture }: Frame): string[] =>
  gatewaysOf(picture.waves).flatMap(({ name, look }) => (look === 'failed' ? name : []));

const gatewaysOf = (waves: DrawnWave[]) => waves.flatMap(({ gateways }) => gateways);

/** Pushes a commit, and sends its webhook. */
async function push(
  { repository, webhookUrl, secret }: Running,
  { files, message }: { files: Record<string, string>; message: string },
): Promise<string> {
  const commit = await repository.commit({ files, message });
  say(`${commit.slice(0, 8)} ${dim(message)}\n`);
  await postPush(webhookUrl, secret, BRANCH);
  return commit;
}

async function checkFile(data: string, wanted: object): Promise<void> {
  const text = await readFile(path.join(data, 'config', FILE), 'utf8');
  if (!isDeepStrictEqual(JSON.parse(text), wanted)) throw new Error(`${data} holds ${text}`);
}

/** Returns a text that changes with every file that is added, deleted, replaced, or written. */
async function stateOnDisk({ data }: Gateway): Promise<string> {
  const directory = path.join(data, 'config');
  const { mtimeMs } = await stat(directory);
  const { ino, ctimeMs } = await stat(path.join(directory, FILE));
  return [mtimeMs, ino, ctimeMs].join(' ');
}

function describe(good: Good, bad: Bad): string {
  const seconds = (frame: Frame | undefined) => `${((frame?.atMs ?? 0) / 1000).toFixed(1)} s`;
  const failure = bad.frames.find((frame) => failedIn(frame).length > 0);
  const others = podObjects.length - bad.failed.length;
  return `Seen: ${good.commit.slice(0, 8)} reached ${podObjects.length} gateways after ${seconds(good.frames.at(-1))}; ${bad.commit.slice(0, 8)} failed on ${bad.failed.join(', ')} after ${seconds(failure)} and was rolled back after ${seconds(bad.frames.at(-1))}; nothing changed on the disks of the other ${others}.`;
}

/** Shortest time for which a frame is shown; the printed times are the real ones (ms). */
const HOLD_MS = 700;
/** Time for which the plan and the end of a rollout are shown (ms). */
const REST_MS = 2_500;

function animationOf(good: Good, bad: Bad): string {
  const colours = inkFor(true);
  const pushed = (commit: string, message: string) =>
    `${colours('dim', '$ git push')}  ${commit.slice(0, 8)} ${message}`;
  const plan = `${colours('dim', '$ kubectl stoker plan')}  ${good.plan}`;
  const ending = `${bad.commit.slice(0, 8)} failed on ${bad.failed.join(', ')} and was rolled back. No other gateway had it.`;
  const scenes: Scene[] = [];
  let above: string[] = [];
  const add = (rows: string[], ms: number) => scenes.push({ rows: [...above, ...rows], ms });
  const addRollout = (first: string[], frames: Frame[]) => {
    add(first, REST_MS);
    for (const [index, frame] of frames.entries()) {
      const ms = (frames[index + 1]?.atMs ?? frame.atMs + REST_MS) - frame.atMs;
      add([...first, ...drawFrame(frame, colours)], Math.max(HOLD_MS, ms));
    }
    above = [...(scenes.at(-1)?.rows ?? []), ''];
  };
  add([pushed(good.commit, COMMITS.good.message)], HOLD_MS);
  addRollout([pushed(good.commit, COMMITS.good.message), plan], good.frames);
  addRollout([pushed(bad.commit, `${COMMITS.bad.message} (with a missing brace)`)], bad.frames);
  add([ending], 2 * REST_MS);
  return drawAnimation(scenes);
}
