import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProgram } from '../../demo/programs.ts';
import { freePort } from '../../testbed/free-port.ts';
import { tailOf } from '../../testbed/guarded-process.ts';
import { LIMIT_KB, makeCgroup } from '../../testbed/memory-limit.ts';
import { readMetric } from '../support/read-metric.ts';
import { SECRET } from '../support/world.ts';
import { type ScaleWorld, SYSTEM, WEBHOOK } from './world.ts';

/** Delay before a restart (ms); the kubelet's delay grows with repeated restarts. */
const RESTART_MS = 1_000;

/** A replica with the memory limit of its container, in a cgroup if this machine allows one. */
export interface Replica {
  kind: 'controller' | 'receiver';
  name: string;
  readonly pid: number;
  /** Port for deliveries, or for admission reviews. */
  port: number;
  metricsPort: number;
  isLimited: boolean;
  /** Seconds from its start until it was ready. */
  readyAfter: number;
  /** Number of times it exited by itself; it is then restarted, as the kubelet would. */
  readonly restarts: number;
  stop(): Promise<void>;
  /** Kills it without a grace period, as if its node failed. */
  kill(): Promise<void>;
}

/** Starts a replica of the controller that serves admission at a port. */
export async function startControllerReplica(world: ScaleWorld, name: string, port: number): Promise<Replica> {
  const metricsPort = await freePort();
  const environment = {
    POD_NAME: name,
    POD_NAMESPACE: SYSTEM,
    WEBHOOK_PORT: String(port),
    WEBHOOK_SELF_SIGNED: WEBHOOK,
    DEFAULT_AGENT_IMAGE: 'agent:1',
    METRICS_PORT: String(metricsPort),
    METRICS_SECURE: 'false',
    GIT_ALLOW_LOCAL: 'true',
  };
  const limitMib = world.size.memory;
  return await start(world, { kind: 'controller', name, environment, port, metricsPort, limitMib });
}

/** Starts a replica of the receiver. */
export async function startReceiverReplica(world: ScaleWorld, name: string): Promise<Replica> {
  const port = await freePort();
  const metricsPort = await freePort();
  const environment = {
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: String(port),
    METRICS_PORT: String(metricsPort),
    WEBHOOK_HMAC_SECRET: SECRET,
  };
  return await start(world, { kind: 'receiver', name, environment, port, metricsPort, limitMib: LIMIT_KB / 1024 });
}

interface NewReplica {
  kind: 'controller' | 'receiver';
  name: string;
  environment: Record<string, string>;
  port: number;
  metricsPort: number;
  limitMib: number;
}

async function start({ cluster }: ScaleWorld, replica: NewReplica): Promise<Replica> {
  const { kind, name, port, metricsPort, limitMib } = replica;
  const cgroup = await makeCgroup(limitMib * 1024);
  // Node reads the limit of a cgroup when it starts, before it joins this one: half of the limit is for the heap.
  const flags = [`--max-old-space-size=${limitMib / 2}`, ...(cgroup?.flags ?? [])];
  const logs = path.join(cluster.dir, name);
  await mkdir(logs, { recursive: true });
  const kubeconfig = await cluster.kubeconfigFor({ namespace: SYSTEM, serviceAccount: kind });
  const launch = () => startProgram(kind, { KUBECONFIG: kubeconfig, ...replica.environment }, logs, flags);
  const started = performance.now();
  let running = await launch();
  const readyAfter = (performance.now() - started) / 1000;
  let restarts = 0;
  let isWanted = true;
  const keepRunning = async () => {
    for (await running.exited; isWanted; await running.exited) {
      restarts += 1;
      console.error(`${name} exited: ${await tailOf(running.log, 1)}`);
      await sleep(RESTART_MS);
      if (isWanted) running = await launch();
    }
  };
  void keepRunning().catch((error) => console.error(`${name} could not be started again:`, error));
  const stop = async (graceMs: number) => {
    isWanted = false;
    await running.stop(graceMs);
    await cgroup?.remove();
  };
  return {
    kind,
    name,
    port,
    metricsPort,
    readyAfter,
    isLimited: cgroup !== undefined,
    get pid() {
      return running.pid;
    },
    get restarts() {
      return restarts;
    },
    stop: () => stop(10_000),
    kill: () => {
      running.child.kill('SIGKILL');
      return stop(0);
    },
  };
}

/** Waits until one of the replicas is the leader, and returns it. */
export async function untilLeader(replicas: Replica[]): Promise<Replica> {
  for (;;) {
    for (const replica of replicas) {
      if ((await readMetric(replica.metricsPort, 'sync_controller_leader')) === 1) return replica;
    }
    await sleep(50);
  }
}
