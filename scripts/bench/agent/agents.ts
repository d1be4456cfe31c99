import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AGENT_CONTAINER, AGENT_LABEL, POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { type RunningProgram, startProgram } from '../../demo/programs.ts';
import { freePort } from '../../testbed/free-port.ts';
import { markReady } from '../support/mark-ready.ts';
import { NAMESPACE, type World } from '../support/world.ts';
import { untilApplied } from './until-applied.ts';

/** Number of agents that start at once, because the start of a program uses a core. */
const STARTING = 8;

/** A real agent with its own directories. */
export interface BenchAgent {
  program: RunningProgram;
  /** The gateway's data volume. */
  data: string;
}

/** The pod of an agent, its GatewaySync, and the data volume if an earlier agent left one. */
export interface NewAgent {
  resource: string;
  pod: string;
  data?: string;
}

/** Starts an agent with the flags of its image, for a ready pod that is created for it. */
export async function startAgent(world: World, { resource, pod, data: existing }: NewAgent): Promise<BenchAgent> {
  const { metadata } = await world.client.create<{ metadata: { uid: string } }>(corePath('pods', NAMESPACE), {
    metadata: { name: pod, labels: { [AGENT_LABEL]: 'true' }, annotations: { [POD_ANNOTATIONS.crName]: resource } },
    spec: {
      schedulingGates: [{ name: 'sync.io/bench' }],
      containers: ['gateway', AGENT_CONTAINER].map((name) => ({ name, image: `${name}:1` })),
    },
  });
  await markReady(world, NAMESPACE, pod);
  const own = path.join(world.cluster.dir, 'pods', pod);
  const data = existing ?? path.join(own, 'data');
  await mkdir(own, { recursive: true });
  await mkdir(data, { recursive: true });
  const labels = path.join(own, 'labels');
  await writeFile(labels, `${AGENT_LABEL}="true"\n`);
  const environment = {
    KUBECONFIG: world.cluster.kubeconfig,
    POD_NAME: pod,
    POD_NAMESPACE: NAMESPACE,
    POD_UID: metadata.uid,
    POD_LABELS_FILE: labels,
    CR_NAME: resource,
    DATA_PATH: data,
    REPO_PATH: path.join(own, 'repo'),
    METRICS_PORT: String(await freePort()),
    GIT_ALLOW_LOCAL: 'true',
    LOG_LEVEL: 'warn',
  };
  return { program: await startProgram('agent', environment, own), data };
}

/** Starts many agents, a few at a time; returns when all have applied the commit. */
export async function startAgents(
  world: World,
  resource: string,
  { count, commit }: { count: number; commit: string },
): Promise<BenchAgent[]> {
  const agents: BenchAgent[] = [];
  while (agents.length < count) {
    const numbers = Array.from({ length: Math.min(STARTING, count - agents.length) }, (_, n) => agents.length + n);
    const started = await Promise.all(
      numbers.map((number) => startAgent(world, { resource, pod: `${resource}-${number}` })),
    );
    await Promise.all(started.map((agent) => untilApplied(agent.data, commit)));
    agents.push(...started);
  }
  return agents;
}
