import { glob } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Slots } from '../shared/domain/limits/slots.ts';
import { buildBundles } from './demo/build-bundles.ts';
import { useMemoryDirectory } from './test/memory-directory.ts';
import { printWhole, type RunOptions, runNodeTests, runSharedTests } from './test/run-node-tests.ts';
import { describeTallies, overBudget, sumOfTallies, type Tally, tallyOfFailure, tallyOfSkip } from './test/tally.ts';
import { type ControlPlane, startControlPlane } from './testbed/control-plane.ts';
import { findBinaries, MissingBinaries } from './testbed/find-binaries.ts';
import { installCrds } from './testbed/install-crds.ts';
import { runCommand } from './testbed/run-command.ts';
import { step } from './testbed/step.ts';
import type { BinaryName } from './testbed/versions.ts';

const root = path.join(import.meta.dirname, '..');
const CONTROL_PLANE: BinaryName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];

/** The groups, in the order in which they run: directories of tests/, with the binaries that each needs. */
const groups = new Map<string, BinaryName[]>([
  ['unit', []],
  ['integration', CONTROL_PLANE],
  ['chart', ['helm', 'kubeconform', ...CONTROL_PLANE]],
  ['limits', CONTROL_PLANE],
  ['monitoring', [...CONTROL_PLANE, 'helm', 'promtool', 'prometheus']],
  ['gitea', [...CONTROL_PLANE, 'gitea']],
  ['servers', [...CONTROL_PLANE, 'prometheus', 'promtool']],
  ['browser', CONTROL_PLANE],
  ['gitops', CONTROL_PLANE],
  ['site', []],
]);
/** Groups that need binaries that not every machine can have; they are skipped with the reason. */
const optional = new Set<string>(['gitea', 'servers']);
const usual = ['unit', 'integration', 'chart', 'gitops'];
const usage = `usage: npm test -- [${[...groups.keys()].join('|')}|all|directory|test file]… [option of node --test]…`;

/** Files of slow tests, which run at full depth only, or if they are named. */
const FULL = /\.full\.test\.ts$/;

/** Returns the test files for the arguments, by group; without arguments, the usual groups. */
async function selectFiles(names: string[], isFull: boolean): Promise<Map<string, string[]>> {
  if (names.length > 1 && names.includes('all')) throw new Error(`all is everything, without other names; ${usage}`);
  const chosen = names.length === 0 ? usual : names.flatMap((name) => (name === 'all' ? [...groups.keys()] : name));
  const selected = new Map([...groups.keys()].map((group) => [group, new Set<string>()]));
  for (const name of chosen) {
    const place = groups.has(name) ? `tests/${name}` : path.relative(root, path.resolve(name));
    const pattern = isFile(place) ? place : `${place}/**/*.test.ts`;
    const matches: { file: string; group: string }[] = [];
    for await (const file of glob(pattern, { cwd: root })) {
      const [, group = ''] = /^tests\/(\w+)\//.exec(file) ?? [];
      if (selected.has(group)) matches.push({ file, group });
    }
    if (matches.length === 0) throw new Error(`${name}: no such group, directory, or test file; ${usage}`);
    for (const { file, group } of matches) if (isFull || !FULL.test(file)) selected.get(group)?.add(file);
  }
  return new Map([...selected].flatMap(([group, files]) => (files.size > 0 ? [[group, [...files].sort()]] : [])));
}

const isFile = (name: string) => name.endsWith('.ts');

/** A file that is named runs at full depth, and so does everything with `all`. */
function depthFor(names: string[]): string {
  return process.env.TEST_DEPTH || (names.some((name) => name === 'all' || isFile(name)) ? 'full' : 'quick');
}

/** Returns a number that changes with each commit. */
async function seedOfCommit(): Promise<string> {
  const commit = await runCommand('git', ['rev-parse', 'HEAD'], { cwd: root }).catch(() => '1');
  return `${Number.parseInt(commit.slice(0, 7), 16)}`;
}

/** Provides the binaries of each group in turn, while other tests run. */
function provideBinaries(names: string[]): Map<string, Promise<unknown>> {
  const turns = new Slots(1);
  // The tests of the chart are the last to begin, if Helm isn't built first.
  const order = names.toSorted((a, b) => Number(b === 'chart') - Number(a === 'chart'));
  const provided = new Map(order.map((name) => [name, turns.run(() => findBinaries(...(groups.get(name) ?? [])))]));
  // The group itself reports missing binaries.
  for (const each of provided.values()) each.catch(() => {});
  return provided;
}

/** Starts the control plane that groups share. */
const startCluster = (): Promise<ControlPlane> =>
  step('Starting a Kubernetes control plane with the CRDs', async () => {
    // Request queues for many callers would take a tenth of the API server's CPU time.
    const controlPlane = await startControlPlane('--enable-priority-and-fairness=false');
    await installCrds(controlPlane);
    return controlPlane;
  });

/** Test files of a group. */
interface Batch {
  group: string;
  files: string[];
}

type RunBatch = (batch: Batch, options: Pick<RunOptions, 'concurrency' | 'print'>) => Promise<Tally>;

/** Runs all groups, even if some fail. */
async function runGroups(selected: Map<string, string[]>, flags: string[]): Promise<Tally[]> {
  let cluster: Promise<ControlPlane> | undefined;
  const provided = provideBinaries([...selected.keys()]);
  const prepare = async (group: string): Promise<NodeJS.ProcessEnv> => {
    const binaries = groups.get(group) ?? [];
    if (binaries.length === 0) return {};
    // Files written in a cgroup with limited memory would count against it.
    const { DISK_TMPDIR: TMPDIR } = group === 'limits' ? process.env : {};
    await step(`Finding ${binaries.join(', ')}`, async () => await provided.get(group));
    cluster ??= startCluster();
    return { TEST_CLUSTER: JSON.stringify(await cluster), ...(TMPDIR && { TMPDIR }) };
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
    const controlPlane = await cluster?.catch(() => undefined);
    await controlPlane?.stop();
  }
}

/**
 * Runs the unit tests and all others at the same time, because unit tests compute and most others wait for half of their
 * time. The limits run alone, because they compare times.
 */
async function runBatches(batches: Batch[], run: RunBatch): Promise<Tally[]> {
  const processors = Math.max(2, availableParallelism());
  const {
    unit = [],
    limits = [],
    others = [],
  } = Object.groupBy(batches, ({ group }) => (group === 'unit' || group === 'limits' ? group : 'others'));
  const inParallel = unit.length > 0 && others.length > 0;
  const print = inParallel ? printWhole : undefined;
  const units = inTurn(unit, (batch) => run(batch, { concurrency: processors, print }));
  const concurrency = inParallel ? Math.ceil(1.5 * processors) : 2 * processors;
  const tallies = await Promise.all([units, inTurn(others, (batch) => run(batch, { concurrency, print }))]);
  return [...tallies.flat(), ...(await inTurn(limits, (batch) => run(batch, { concurrency: 2 * processors })))];
}

async function inTurn(batches: Batch[], run: (batch: Batch) => Promise<Tally>): Promise<Tally[]> {
  const tallies: Tally[] = [];
  for (const batch of batches) tallies.push(await run(batch));
  return tallies;
}

function explainFailure(group: string, error: Error): Tally {
  console.error(error.message);
  return error instanceof MissingBinaries && optional.has(group)
    ? tallyOfSkip(group, error)
    : tallyOfFailure(`tests/${group}`, error);
}

try {
  const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
  const names = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const depth = depthFor(names);
  const seed = process.env.TEST_SEED || (await seedOfCommit());
  Object.assign(process.env, { TEST_DEPTH: depth, TEST_SEED: seed });
  console.log(`Random choices begin with TEST_SEED=${seed}, at TEST_DEPTH=${depth}.`);
  const selected = await selectFiles(names, depth !== 'quick');
  const inMemory = useMemoryDirectory(process.env);
  if (inMemory) console.log(`Temporary files are in ${inMemory}; TMPDIR=/tmp npm test puts them on the disk.`);
  await buildBundles();
  const tallies = await runGroups(selected, flags);
  const { passed, failed, uses } = sumOfTallies(tallies);
  const over = depth === 'quick' ? overBudget(uses) : [];
  console.log(['', ...over, describeTallies(tallies)].join('\n'));
  if (passed + failed.length === 0) throw new Error('no test ran');
  process.exitCode = over.length > 0 || failed.length > 0 ? 1 : 0;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
