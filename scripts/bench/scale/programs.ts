import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningProgram, startProgram } from '../../demo/programs.ts';
import { freePort } from '../../testbed/free-port.ts';
import { tailOf } from '../../testbed/guarded-process.ts';
import { LIMIT_KB, makeCgroup } from '../../testbed/memory-limit.ts';
import { readMetric } from '../controller/start-controller.ts';
import { kubeconfigOf, SYSTEM, WEBHOOK, type World } from './world.ts';

/** The kubelet waits for longer after the first times, in milliseconds. */
const RESTART_MS = 1_000;

/** Deliveries are signed by it. */
export const SECRET = 'a-secret-of-the-benchmark';

/** A program of ours with the memory that the chart grants, in a cgroup where the machine lets us. */
export interface Program {
  name: string;
  readonly pid: number;
  /** Where it takes deliveries, or reviews. */
  port: number;
  metricsPort: number;
  isLimited: boolean;
  /** Milliseconds from its start until it was ready. */
  readyAfterMs: number;
  /** Why it ended by itself, each time: it is started again, as the kubelet would. */
  restarts: string[];
  stop(): Promise<void>;
  /** As a node that fails does. */
  kill(): Promise<void>;
}

/** Starts a replica of the controller, as the chart does; it takes reviews at the port. */
export async function startController(world: World, name: string, port: number): Promise<Program> {
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
  return await start(world, { kind: 'controller', name, environment, port, metricsPort });
}

/** Starts a replica of the receiver, as the chart does. */
export async function startReceiver(world: World, name: string): Promise<Program> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const environment = {
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: String(port),
    METRICS_PORT: String(metricsPort),
    WEBHOOK_HMAC_SECRET: SECRET,
  };
  return await start(world, { kind: 'receiver', name, environment, port, metricsPort });
}

interface Start {
  kind: 'controller' | 'receiver';
  name: string;
  environment: Record<string, string>;
  port: number;
  metricsPort: number;
}

async function start(world: World, { kind, name, environment, port, metricsPort }: Start): Promise<Program> {
  const limit = kind === 'controller' ? world.size.memory : LIMIT_KB / 1024;
  const cgroup = await makeCgroup(limit * 1024);
  // As the image's flag, by which V8 gets half of the limit for its heap.
  const heap = `--max-old-space-size=${limit / 2}`;
  const logs = path.join(world.cluster.dir, name);
  await mkdir(logs, { recursive: true });
  const variables = { KUBECONFIG: await kubeconfigOf(world, kind), ...environment };
  const launch = () => startProgram(kind, variables, logs, [heap, ...(cgroup?.flags ?? [])]);
  const started = performance.now();
  let running: RunningProgram = await launch();
  const readyAfterMs = performance.now() - started;
  const restarts: string[] = [];
  let isWanted = true;
  const keepUp = async () => {
    for (await running.exited; isWanted; await running.exited) {
      restarts.push(await lastWordsOf(running));
      await sleep(RESTART_MS);
      if (isWanted) running = await launch();
    }
  };
  void keepUp().catch((error) => restarts.push(String(error)));
  const end = async (graceMs: number) => {
    isWanted = false;
    await running.stop(graceMs);
    await cgroup?.remove();
  };
  return {
    ...{ name, port, metricsPort, readyAfterMs, restarts, isLimited: cgroup !== undefined },
    get pid() {
      return running.pid;
    },
    stop: () => end(10_000),
    kill: () => {
      isWanted = false;
      running.child.kill('SIGKILL');
      return end(0);
    },
  };
}

/** The message of the last line of its log, and how it ended. */
async function lastWordsOf({ log, exited }: RunningProgram): Promise<string> {
  const { code, signal } = await exited;
  const line = await tailOf(log, 1);
  const message = /"msg":"([^"]*)"/.exec(line)?.[1] ?? line;
  return `${message} (${signal ?? code})`;
}

/** Waits until one of the replicas leads, and gives that one. */
export async function untilLeader(replicas: Program[]): Promise<Program> {
  for (;;) {
    for (const replica of replicas) {
      const leads = await readMetric(replica.metricsPort, /^sync_controller_leader /).catch(() => 0);
      if (leads === 1) return replica;
    }
    await sleep(50);
  }
}
