import { glob } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { buildBundles } from './demo/build-bundles.ts';
import { useMemoryDirectory } from './test/memory-directory.ts';
import { printWhole, type RunOptions, runNodeTests, runSharedTests } from './test/run-node-tests.ts';
import { describeTallies, type Tally, tallyOfFailure, tallyOfSkip } from './test/tally.ts';
import { type ControlPlane, startControlPlane } from './testbed/control-plane.ts';
import { findBinaries, MissingBinaries } from './testbed/find-binaries.ts';
import { installCrds } from './testbed/install-crds.ts';
import { step } from './testbed/step.ts';
import type { BinaryName } from './testbed/versions.ts';

const root = path.join(import.meta.dirname, '..');
const CONTROL_PLANE: BinaryName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];

/** The groups, in the order in which they run: directories of tests/, with the binaries that each needs. */
const groups = new Map<string, BinaryName[]>([
  ['unit', []],
  ['integration', CONTROL_PLANE],
  ['chart', [...CONTROL_PLANE, 'helm', 'kubeconform']],
  ['limits', CONTROL_PLANE],
  ['monitoring', [...CONTROL_PLANE, 'helm', 'promtool', 'prometheus']],
  ['gitea', [...CONTROL_PLANE, 'gitea']],
  ['servers', [...CONTROL_PLANE, 'prometheus', 'promtool']],
  ['browser', CONTROL_PLANE],
  ['gitops', CONTROL_PLANE],
]);
/** Groups that need binaries that not every machine can have; they are skipped with the reason. */
const optional = new Set<string>(['gitea', 'servers']);
const usual = ['unit', 'integration', 'chart', 'gitops'];
const usage = `usage: npm test -- [${[...groups.keys()].join('|')}|all|test file]… [option of node --test]…`;

/** Returns the test files for the arguments, by group; without arguments, the usual groups. */
async function selectFiles(names: string[]): Promise<Map<string, string[]>> {
  const chosen = names.length === 0 ? usual : names.flatMap((name) => (name === 'all' ? [...groups.keys()] : name));
  const selected = new Map([...groups.keys()].map((group) => [group, new Set<string>()]));
  for (const name of chosen) {
    const pattern = groups.has(name) ? `tests/${name}/**/*.test.ts` : path.relative(root, path.resolve(name));
    const matches: { file: string; group: string }[] = [];
    for await (const file of glob(pattern, { cwd: root })) {
      const [, group = ''] = /^tests\/(\w+)\//.exec(file) ?? [];
      if (selected.has(group)) matches.push({ file, group });
    }
    if (matches.length === 0) throw new Error(`${name}: no such group or test file; ${usage}`);
    for (const { file, group } of matches) selected.get(group)?.add(file);
  }
  return new Map([...selected].flatMap(([group, files]) => (files.size > 0 ? [[group, [...files].sort()]] : [])));
}

/** Provides the binaries of each group in order, while the tests of previous groups run. */
function provideBinaries(names: string[]): Map<string, Promise<unknown>> {
  const provided = new Map<string, Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  for (const name of names) {
    const provide = () => findBinaries(...(groups.get(name) ?? []));
    last = last.then(provide, provide);
    // The group itself reports missing binaries.
    last.catch(() => {});
    provided.set(name, last);
  }
  return provided;
}

/** Turns off request queues for many callers, which take a tenth of the API server's CPU time. */
const withoutTurns = { apiServerArgs: ['--enable-priority-and-fairness=false'] };

/** The control plane that groups share. */
class SharedCluster {
  #controlPlane: Promise<ControlPlane> | undefined;

  start(): Promise<ControlPlane> {
    this.#controlPlane ??= step('Starting a Kubernetes control plane with the CRDs', async () => {
      const controlPlane = await startControlPlane(withoutTurns);
      await installCrds(controlPlane);
      return controlPlane;
    });
    return this.#controlPlane;
  }

  async stop(): Promise<void> {
    const controlPlane = await this.#controlPlane?.catch(() => undefined);
    await controlPlane?.stop();
  }
}

/** Test files of a group. */
interface Batch {
  group: string;
  files: string[];
}

type RunBatch = (batch: Batch, options: Pick<RunOptions, 'concurrency' | 'print'>) => Promise<Tally>;

/** Files that run at the same time as other groups with a cluster: all their objects are in their own namespaces. */
const AMONG_OTHERS = /^tests\/integration\/agent\//;
/** Files with their own control plane, which wait most of the time. */
const APART = /^tests\/chart\/(faults|upgrade)\.test\.ts$/;

/** Runs all groups, even if some fail. */
async function runGroups(selected: Map<string, string[]>, flags: string[]): Promise<Tally[]> {
  const cluster = new SharedCluster();
  const provided = provideBinaries([...selected.keys()]);
  const prepare = async (group: string): Promise<NodeJS.ProcessEnv> => {
    const binaries = groups.get(group) ?? [];
    if (binaries.length === 0) return {};
    await step(`Finding ${binaries.join(', ')}`, async () => await provided.get(group));
    return { TEST_CLUSTER: JSON.stringify(await cluster.start()) };
  };
  const run: RunBatch = async ({ group, files }, options) => {
    const runTests = group === 'unit' ? runSharedTests : runNodeTests;
    const tally = prepare(group).then((env) => runTests(files, { group, flags, env, ...options }));
    return await tally.catch((error: Error) => explainFailure(group, error));
  };
  const batches = [...selected].map(([group, files]): Batch => ({ group, files }));
  try {
    return await runBatches(batches, run);
  } finally {
    await cluster.stop();
  }
}

/**
 * Runs the unit tests and all others at the same time, because unit tests compute and most others wait for half of their
 * time. Three files keep two CPUs busy. The unit tests have less to do, so the agent's tests run first.
 */
async function runBatches(batches: Batch[], run: RunBatch): Promise<Tally[]> {
  const processors = Math.max(2, availableParallelism());
  const unit = batches.filter(({ group }) => group === 'unit');
  const others = batches.filter(({ group }) => group !== 'unit');
  if (others.length === 0) return await inTurn(unit, (batch) => run(batch, { concurrency: processors }));
  if (unit.length === 0) return await inTurn(others, (batch) => run(batch, { concurrency: 2 * processors }));

  const runWhole = (batch: Batch, concurrency = Math.ceil(processors * 1.5)) =>
    run(batch, { concurrency, print: printWhole });
  const rest = partsOf(others, (file) => !AMONG_OTHERS.test(file) && !APART.test(file));
  const agents = inTurn(
    partsOf(others, (file) => AMONG_OTHERS.test(file)),
    runWhole,
  );
  const apart = inTurn(
    partsOf(others, (file) => APART.test(file)),
    (batch) => runWhole(batch, 1),
  );
  const remaining = inTurn(rest, async (batch) => {
    // Later groups install objects for the whole cluster, which the agent's tests must not see.
    if (batch.group !== 'integration') await agents;
    return await runWhole(batch);
  });
  return (await Promise.all([agents, agents.then(() => inTurn(unit, runWhole)), remaining, apart])).flat();
}

async function inTurn(batches: Batch[], run: (batch: Batch) => Promise<Tally>): Promise<Tally[]> {
  const tallies: Tally[] = [];
  for (const batch of batches) tallies.push(await run(batch));
  return tallies;
}

function partsOf(batches: Batch[], isPart: (file: string) => boolean): Batch[] {
  const parts = batches.map(({ group, files }) => ({ group, files: files.filter(isPart) }));
  return parts.filter(({ files }) => files.length > 0);
}

function explainFailure(group: string, error: Error): Tally {
  console.error(error.message);
  return error instanceof MissingBinaries && optional.has(group)
    ? tallyOfSkip(group, error)
    : tallyOfFailure(`tests/${group}`, error);
}

try {
  const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
  const selected = await selectFiles(process.argv.slice(2).filter((argument) => !argument.startsWith('-')));
  // Files written in a cgroup with limited memory would count against it.
  const inMemory = selected.has('limits') ? undefined : useMemoryDirectory(process.env);
  if (inMemory) console.log(`Temporary files are in ${inMemory}; TMPDIR=/tmp npm test puts them on the disk.`);
  await buildBundles();
  const tallies = await runGroups(selected, flags);
  console.log(`\n${describeTallies(tallies)}`);
  process.exitCode = tallies.some(({ failed }) => failed.length > 0) ? 1 : 0;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
