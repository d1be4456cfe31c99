import { createHash } from 'node:crypto';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { allDirectories } from '../../../../agent/plan/directories.ts';
import { planChanges } from '../../../../agent/plan/plan-changes.ts';
import type { DesiredFile, DesiredTree } from '../../../../agent/plan/plan-input.ts';
import { hasJournal } from '../../../../agent/volume/manifest/journal.ts';
import { ManifestFile } from '../../../../agent/volume/manifest/manifest-file.ts';
import { applyChanges } from '../../../../agent/volume/moves/apply-changes.ts';
import { settleVolume } from '../../../../agent/volume/moves/settle.ts';
import { scanRoots } from '../../../../agent/volume/scan/scan-roots.ts';
import { scanTree } from '../../../../agent/volume/scan/scan-tree.ts';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';
import { VolumeLock } from '../../../../agent/volume/state/volume-lock.ts';
import { UnlinkableError } from '../../../../agent/volume/trees/build-trees.ts';
import { removeRetired, retiredTrees } from '../../../../agent/volume/trees/retired-trees.ts';
import { ATOMIC, atomicTreeOf, treeOf } from './race-tree.ts';

/** Given as JSON in the first argument. */
interface Order {
  data: string;
  name: string;
  isAtomic?: boolean;
}

const { data, name, isAtomic = false } = JSON.parse(process.argv[2] ?? '') as Order;
const log = pino({ level: 'silent' });
const root = await DataRoot.open(data);
const identity = { podName: name, podUid: name, namespace: 'n', crName: 'c', profile: 'd', gatewayName: undefined };
const lock = new VolumeLock(root, identity);
const manifestFile = new ManifestFile(root, log);
const settings = {
  onConflict: 'takeOver' as const,
  drift: 'repair' as const,
  prune: true,
  allowEmpty: false,
  groupWrite: false,
};

/** The round to settle in; 0 while there is none. */
let round = 0;
let commits = 0;

function desiredTree(files: Record<string, string>): DesiredTree {
  const entries = Object.entries(files).map(([path, text]) => {
    const blob = createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex');
    return [path, { path, source: path, blob, executable: false, template: false }] as const;
  });
  return { files: new Map(entries), directories: allDirectories(Object.keys(files)), retained: new Set() };
}

/** The files of a commit, by their paths in the volume. */
function filesOf(commit: string): Record<string, string> {
  if (!isAtomic) return treeOf(commit);
  return Object.fromEntries(Object.entries(atomicTreeOf(commit)).map(([path, text]) => [`${ATOMIC}/${path}`, text]));
}

const wanted = isAtomic ? [ATOMIC] : [];

async function sync(commit: string): Promise<void> {
  const files = filesOf(commit);
  const desired = desiredTree(files);
  const manifest = await manifestFile.read();
  const live = await scanTree(root, { desired, manifest, algorithm: 'sha1', roots: wanted });
  const roots = { wanted, live: await scanRoots(root, [...wanted, ...manifest.trees.keys()], manifest) };
  const result = planChanges({ desired, manifest, live, roots, values: new Map(), settings, unlinkable });
  if (result.kind === 'refused') throw new Error(result.problems.join('; '));
  const contentOf = ({ path }: DesiredFile) => Buffer.from(files[path] ?? '');
  const contents = {
    announce: () => {},
    // As from git: some have come already.
    openNow: (file: DesiredFile) => (Math.random() < 0.5 ? contentOf(file) : undefined),
    open: async (file: DesiredFile) => {
      const content = contentOf(file);
      return { size: content.length, chunks: [content] };
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const target = { root, lock, manifestFile, openContents: () => contents, values: new Map(), log, groupWrite: false };
  await applyChanges(result.plan, target, { ref: 'main', commit, time: 'now' });
}

/** Files that can't be linked to the next tree because the gateway changed them. */
let unlinkable: ReadonlySet<string> = new Set();

/** As before each sync of the agent, undoes an interrupted one first. */
async function takeVolume(): Promise<void> {
  const isNew = await lock.hold();
  if (!isNew && !hasJournal(root)) return;
  manifestFile.forget();
  await settleVolume({ root, manifestFile, log });
}

/** Takes the volume if possible, delivers a commit, and lets others have the volume in between. */
async function turn(): Promise<void> {
  const settling = round;
  try {
    await takeVolume();
    commits += 1;
    const commit = `${name}-${commits}`;
    await sync(commit);
    lock.check();
    for (const tree of await retiredTrees(root)) await removeRetired(tree, root);
    unlinkable = new Set();
    if (settling > 0) {
      process.stdout.write(`${JSON.stringify({ round: settling, commit })}\n`);
      while (round === settling) await sleep(5);
    } else if (Math.random() < 0.2) await lock.release();
  } catch (error) {
    manifestFile.forget();
    if (error instanceof UnlinkableError) unlinkable = new Set(error.paths);
    const { name: kind, code } = error as { name: string; code: string };
    const isExpected = kind === 'WaitingError' || code === 'data.changed';
    if (!isExpected) process.stdout.write(`${JSON.stringify({ problem: (error as Error).stack })}\n`);
    else if (settling > 0) process.stdout.write(`${JSON.stringify({ round: settling })}\n`);
    await sleep(Math.random() * 10);
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  round = Number(line);
});
process.stdin.on('end', () => process.exit(0));
for (;;) await turn();
