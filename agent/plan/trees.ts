import { isWithin } from '../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/files/render-mappings.ts';
import { type Drift, MAX_REPAIRS } from './drift.ts';
import type { TreeRecord } from './manifest.ts';
import { isRemovable } from './plan-conflicts.ts';
import type { LiveRoot, PlanInput } from './plan-input.ts';
import { linkChange, type Publication } from './publication.ts';

/** Returns the destinations of mappings with `publish: atomic`; one inside another is a part of its tree. */
export function treeRoots(mappings: readonly RenderedMapping[]): string[] {
  const all = [...new Set(mappings.flatMap(({ isAtomic, destination }) => (isAtomic ? [destination] : [])))];
  return all.filter((path) => rootOf(path, all) === undefined);
}

/** Returns the innermost of the roots that contains the path; a root doesn't contain itself. */
export function rootOf(path: string, roots: Iterable<string>): string | undefined {
  let found: string | undefined;
  for (const root of roots) {
    if (path.length > root.length && isWithin(path, root) && root.length > (found?.length ?? 0)) found = root;
  }
  return found;
}

/** Changes of links to trees. */
export interface TreesPlan {
  publications: Publication[];
  problems: string[];
  drift: Drift[];
}

/** Plans the links to trees: a tree is replaced if a file in it changes. `changed` are the paths of these files. */
export function planTrees(input: PlanInput, changed: Iterable<string>): TreesPlan {
  const targets = targetsOf(input);
  const plan: TreesPlan = { publications: [], problems: [], drift: [] };
  if (targets.size === 0) return plan;
  const changedRoots = new Set<string>();
  for (const path of changed) {
    const root = rootOf(path, targets.keys());
    if (root !== undefined) changedRoots.add(root);
  }
  for (const [path, to] of targets) planRoot({ path, to, isChanged: changedRoots.has(path) }, input, plan);
  return plan;
}

type Target = Publication['to'];

/** Returns what each root becomes. Roots that only have files that are no longer mapped, but stay, remain as they are. */
function targetsOf({ desired, manifest, whole = manifest, roots, untouched }: PlanInput): Map<string, Target> {
  const wanted = roots?.wanted ?? [];
  const all = [...new Set([...wanted, ...whole.trees.keys()])];
  if (all.length === 0) return new Map();
  // A narrowed plan lists only some of the files, and no root loses all of its files in it.
  const isNarrow = untouched !== undefined;
  const needed = new Set(isNarrow ? wanted.filter((path) => whole.trees.has(path)) : []);
  const rootsAbove = (paths: Iterable<string>) => {
    const others = new Set<string>();
    for (const path of paths) {
      const root = rootOf(path, wanted);
      if (root !== undefined) needed.add(root);
      else for (const other of all) if (path !== other && isWithin(path, other)) others.add(other);
    }
    return others;
  };
  const filled = rootsAbove(desired.files.keys());
  const retaining = rootsAbove(desired.retained);
  const targets = new Map<string, Target>();
  for (const path of needed) targets.set(path, 'link');
  for (const path of whole.trees.keys()) {
    if (needed.has(path)) continue;
    const isCovered = [...needed].some((root) => isWithin(path, root));
    const isAbove = [...needed].some((root) => isWithin(root, path));
    if (isCovered) targets.set(path, 'nothing');
    else if (filled.has(path) || (isAbove && retaining.has(path))) targets.set(path, 'directory');
    else if (!retaining.has(path) && !isNarrow) targets.set(path, 'nothing');
  }
  return targets;
}

interface PlannedRoot {
  path: string;
  to: Target;
  /** Whether a file in it changes. */
  isChanged: boolean;
}

function planRoot({ path, to, isChanged }: PlannedRoot, input: PlanInput, plan: TreesPlan): void {
  const { roots, manifest, whole = manifest, settings } = input;
  const live = roots?.live.get(path) ?? { kind: 'absent' };
  const record = whole.trees.get(path);
  if (to === 'nothing') {
    const from = live.kind === 'link' ? live : ({ kind: 'absent' } as const);
    const isMapped = input.desired.directories.has(path);
    const change = linkChange({ to, from, live, record, isMapped });
    plan.publications.push({ path, to, from, change });
    return;
  }
  const isIntact = live.kind === 'link' && live.tree === record?.tree;
  if (to === 'link' && isIntact && !isChanged) return;
  if (to === 'link' && record && !isIntact && !isChanged) {
    const isRepaired = settings.drift === 'repair' && (input.repairs?.of(path) ?? 0) < MAX_REPAIRS;
    plan.drift.push({ path, reason: live.kind === 'absent' ? 'Missing' : 'Drifted', isRepaired });
    if (!isRepaired) return;
  }
  const problem = obstacle(path, live, { to, input });
  const from = leavingFrom(live, record);
  if (problem) plan.problems.push(problem);
  else plan.publications.push({ path, to, from, change: linkChange({ to, from, live, record, isMapped: true }) });
}

function leavingFrom(live: LiveRoot, record: TreeRecord | undefined): Publication['from'] {
  if (live.kind === 'link') return live;
  return live.kind === 'directory'
    ? { kind: 'directory', isForeign: record !== undefined || !live.isOwned }
    : { kind: 'absent' };
}

/** Checks whether the file at a path is one that the plan deletes. */
function isLeaving(path: string, input: PlanInput): boolean {
  const live = input.live.get(path);
  const isDesired = input.desired.files.has(path) || input.desired.retained.has(path);
  return live?.kind === 'file' && !isDesired && isRemovable(path, live, input);
}

function obstacle(path: string, live: LiveRoot, { to, input }: { to: Target; input: PlanInput }): string | undefined {
  const { settings } = input;
  if (live.kind === 'other' && !isLeaving(path, input))
    return `${path} is a file or a symbolic link in the data volume that the agent did not create, but the link to an atomic tree is needed there: remove it`;
  if (live.kind !== 'directory') return undefined;
  if (to === 'directory')
    return `${path} was a symbolic link of the agent, and a directory has replaced it: move its files to another directory, and remove it`;
  if (live.foreign.length === 0) return undefined;
  if (live.isOwned) return mixedDirectory(path, live.foreign);
  if (settings.onConflict === 'takeOver') return undefined;
  return `${path} is a directory in the data volume with files that the agent did not write, such as ${live.foreign[0]}, but the link to an atomic tree is needed there: remove them, or set onConflict to takeOver`;
}

/** Programs would no longer find its other entries at their paths. */
function mixedDirectory(path: string, foreign: readonly string[]): string {
  const names = `${foreign.slice(0, 5).join(', ')}${foreign.length > 5 ? ', and more' : ''}`;
  return `${path} contains files of the agent, and entries that the agent did not write: ${names}. publish: atomic would replace the whole directory, so move these entries to another directory, or specify another destination`;
}
