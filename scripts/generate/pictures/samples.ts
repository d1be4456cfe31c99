import { mock } from 'node:test';
import { AgentMetrics } from '../../../agent/metrics.ts';
import { createMetrics as createControllerMetrics } from '../../../controller/metrics/metrics.ts';
import { renderResources } from '../../../controller/metrics/resource-metrics.ts';
import { createMetrics as createReceiverMetrics } from '../../../receiver/metrics.ts';
import type { Outcome } from '../../../receiver/routes/outcome.ts';
import { isAttacked, isDown, MINUTES, minutesOfAttack, SITES, type Site, syncsOf, waitOf } from './fleet.ts';
import { statusOf } from './status.ts';

/** Minutes between two scrapes. */
const STEP = 0.25;
const DAY = 86_400;

type Labels = Record<string, string>;
/** Lets a minute happen in a program, and gives its metrics in Prometheus' text format. */
type Program = (minute: number) => Promise<string>;

/**
 * What Prometheus would have scraped from the fleet, in the OpenMetrics text format. It comes from the programs' own
 * metrics, so names, labels and buckets are theirs; `start` is the left edge of the pictures in seconds since 1970.
 */
export async function renderSamples(start: number): Promise<string> {
  const random = randomNumbers();
  const programs: [Labels, Program][] = [
    [targetOf('operator', 'controller', 'controller-a'), leader(start, random)],
    [targetOf('operator', 'controller', 'controller-b'), async () => spare.registry.metrics()],
    [targetOf('operator', 'receiver', 'receiver-a'), receiver(random)],
    ...SITES.flatMap((site) =>
      site.gateways.map((pod, index): [Labels, Program] => [
        { ...targetOf(site.namespace, 'agents', pod), name: site.name },
        agent(site, index, random),
      ]),
    ),
  ];
  const spare = createControllerMetrics();
  const lines: string[] = [];
  mock.timers.enable({ apis: ['Date'] });
  try {
    for (let minute = -MINUTES.before; minute <= MINUTES.shown; minute += STEP) {
      const time = start + minute * 60;
      mock.timers.setTime(time * 1000);
      for (const [target, program] of programs) {
        const page = await program(minute);
        const own = page.split('\n').filter((line) => line.startsWith('sync_'));
        const runtime = target.job === 'agents' ? [] : runtimeMetrics(minute, target, random);
        lines.push(...[...own, ...runtime].map((line) => `${withLabels(line, target)} ${time}`));
      }
    }
  } finally {
    mock.timers.reset();
  }
  return `${lines.join('\n')}\n# EOF\n`;
}

const targetOf = (namespace: string, job: string, pod: string): Labels => ({ namespace, job, pod, instance: pod });

/** Adds the labels of a target; those of the series itself win, as `honor_labels` wants it. */
function withLabels(line: string, target: Labels): string {
  const [, name = '', own = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  const added = Object.entries(target).filter(([label]) => !new RegExp(`(?:^|,)${label}="`).test(own));
  return `${name}{${[...(own ? [own] : []), ...added.map(([label, text]) => `${label}="${text}"`)].join(',')}} ${value}`;
}

function leader(start: number, random: () => number): Program {
  const metrics = createControllerMetrics();
  metrics.leader.set(1);
  metrics.resources.set(SITES.length);
  metrics.podsMissingSidecar.set(0);
  metrics.certificateExpiry.set(start + 62 * DAY);
  metrics.reviews.inc({ outcome: 'patched' }, 12);
  return async (minute) => {
    for (const [index, site] of SITES.entries()) {
      const isPoll = !site.isPaused && (minute / STEP + index) % 4 === 0;
      if (isPoll) {
        const outcome = isDown(minute, site) ? 'failure' : 'success';
        metrics.gitQueries.inc({ outcome });
        metrics.gitQuerySeconds.observe(outcome === 'failure' ? 10 : around(0.12, random));
      }
      for (const { pushed, applied } of syncsOf(site)) {
        if (isNow(applied, minute)) {
          metrics.requestSeconds.observe((applied - pushed) * 60 * around(0.2, random));
        }
        if (isNow(applied + waitOf(site, 1), minute)) metrics.transitions.inc({ reason: 'Synced' });
        if (isNow(pushed, minute))
          metrics.transitions.inc({ reason: isDown(minute, site) ? 'GitUnreachable' : 'Resolved' });
      }
      const [before, now] = [minute - STEP, minute].map((moment) => statusOf(site, moment).rollout?.phase);
      if (before !== now) metrics.transitions.inc({ reason: `Rollout${now}` });
      metrics.reconciles.inc({ outcome: random() < 0.01 ? 'failure' : 'success' }, isPoll ? 3 : 1);
      metrics.reconcileSeconds.observe(around(0.02, random));
      metrics.queueSeconds.observe(around(0.004, random));
      if ((minute + index * 2) % 7 === 0) metrics.watchRestarts.inc({ kind: WATCHED[index] ?? '', reason: 'end' });
    }
    metrics.queueDepth.set(random() < 0.3 ? Math.ceil(random() * 3) : 0);
    metrics.apiCalls.inc({ verb: 'GET', code: '200' }, 2);
    metrics.apiCalls.inc({ verb: 'PATCH', code: '200' }, 3 + Math.floor(random() * 3));
    metrics.apiCalls.inc({ verb: 'PATCH', code: '409' }, random() < 0.1 ? 1 : 0);
    const isRollout = minute >= 13 && minute < 15;
    if (isRollout || random() < 0.05) metrics.reviews.inc({ outcome: isRollout ? 'patched' : 'unchanged' });
    metrics.reviewSeconds.observe(around(0.006, random));
    const resources = SITES.map((site) => ({
      namespace: site.namespace,
      name: site.name,
      status: statusOf(site, minute),
    }));
    return `${await metrics.registry.metrics()}\n${await renderResources(resources)}`;
  };
}

const WATCHED = ['gatewaysyncs', 'pods', 'syncreports', 'rolebindings'];

function receiver(random: () => number): Program {
  const metrics = createReceiverMetrics();
  let waiting = 0;
  metrics.setOpen(false);
  metrics.watchQueue(() => waiting);
  const answer = (outcome: Outcome, seconds: number) =>
    metrics.countAnswer({ outcome, seconds, requestId: undefined, target: { namespace: 'a', name: 'b' }, headers: {} });
  return async (minute) => {
    for (const { pushes, namespace } of SITES) {
      if (!pushes.some((pushed) => isNow(pushed, minute))) continue;
      const source = namespace === 'lyon' ? 'gitlab' : 'github';
      const seconds = around(0.015, random);
      for (const _ of [1, 2, 3]) answer({ kind: 'stored', ref: 'refs/heads/main', source, superseded: false }, seconds);
      metrics.countPatch(200, seconds * 0.8);
      metrics.countMerged(3);
      if (random() < 0.4) {
        metrics.countPatch(503, around(0.04, random));
        metrics.countRetried();
      }
    }
    for (const source of ['github', 'gitlab'] as const) {
      for (let count = Math.floor(random() * 7); count > 0; count -= 1) {
        const reason = random() < 0.8 ? 'EventIgnored' : 'Deleted';
        answer({ kind: 'ignored', reason, source }, around(0.002, random));
      }
    }
    waiting = random() < 0.2 ? 1 : 0;
    if (isAttacked(minute)) {
      const refused = 40 + Math.floor(random() * 15);
      for (let count = 0; count < refused; count += 1)
        answer({ kind: 'refused', reason: count < 2 ? 'Unauthorized' : 'TooManyFailures' }, around(0.001, random));
      for (let count = 0; count < 5; count += 1) metrics.countDropped();
      waiting = 1 + Math.floor(random() * 4);
    }
    return String(await metrics.page.metrics());
  };
}

function agent(site: Site, index: number, random: () => number): Program {
  const metrics = new AgentMetrics(site.version);
  const none = { added: 0, modified: 0, deleted: 0, unchanged: 20 };
  const checked = (files = none, repaired = 0) => metrics.onInLine({ files, repaired, drifted: 0 });
  metrics.onPeriod(site.isPaused ? 0 : 60);
  checked();
  return async (minute) => {
    const wait = waitOf(site, index);
    const isBroken = isDown(minute, site) && isDown(minute - wait, site) && index > 0;
    const isDue = (minute / STEP + index) % 4 === 0;
    if (isBroken && isDue) metrics.onSync('error', around(2, random));
    if (!isBroken && !site.isPaused && isDue) checked();
    for (const { applied } of syncsOf(site).filter((sync) => isNow(sync.applied + wait, minute))) {
      const size = Math.ceil(random() * 5);
      metrics.onFetch(around(0.3, random));
      metrics.onSync('success', around(0.5, random));
      checked({ added: applied % 2 < 1 ? size : 0, modified: 2 * size, deleted: size > 3 ? 1 : 0, unchanged: 20 });
      metrics.onReload(random() < 0.1 ? 'error' : 'success');
    }
    if (index === 0 && site.drifts.some((drift) => isNow(drift, minute))) {
      metrics.onSync('success', around(0.1, random));
      checked(none, 2);
    }
    return await metrics.registry.metrics();
  };
}

/** What the runtime reports of itself; the real one here would report the generator. */
function runtimeMetrics(minute: number, { pod, job }: Labels, random: () => number): string[] {
  const isBusy = job === 'receiver' && isAttacked(minute);
  const base = { 'controller-a': 88, 'controller-b': 74 }[pod ?? ''] ?? 71;
  const cores = { 'controller-a': 0.012, 'controller-b': 0.003 }[pod ?? ''] ?? 0.004;
  const seconds =
    (minute + MINUTES.before) * 60 * cores + (job === 'receiver' ? minutesOfAttack(minute) * 60 * 0.05 : 0);
  return [
    `process_resident_memory_bytes ${Math.round((base + (isBusy ? 4 : 0) + random() * 2) * 2 ** 20)}`,
    `process_cpu_seconds_total ${seconds.toFixed(3)}`,
    `nodejs_eventloop_lag_p99_seconds ${((isBusy ? 0.014 : 0.011) + random() * 0.001).toFixed(5)}`,
  ];
}

const isNow = (moment: number, minute: number): boolean => moment > minute - STEP && moment <= minute;

/** A time in seconds of this size: mostly a little more or less, seldom much more. */
const around = (seconds: number, random: () => number): number =>
  Number((seconds * (0.6 + random() * 0.8) * (random() < 0.04 ? 4 : 1)).toFixed(5));

/** The same numbers from 0 to 1 each time; Park and Miller's generator. */
function randomNumbers(): () => number {
  let state = 20_260_601;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
