import { linkText } from '../../agent/plan/links/link-text.ts';
import type { DesiredFile, TreeEntry } from '../../agent/plan/plan-input.ts';
import type { TemplateSources } from '../../agent/plan/template-values.ts';
import { joinPath } from '../../shared/domain/files/relative-path.ts';
import { type CheckoutListing, entriesOf } from '../checkout/list-checkout.ts';
import { type CheckoutPlan, planCheckout } from '../checkout/plan-checkout.ts';
import type { GatewaySyncManifest } from '../checkout/read-gateway-sync.ts';
import type { CheckoutGit } from './checkout-git.ts';

/** The files that a gateway gets from a commit. */
export interface CommitPlan extends Omit<Extract<CheckoutPlan, { kind: 'plan' }>, 'files'> {
  /** By their paths on the gateway. */
  files: ReadonlyMap<string, DesiredFile>;
  /** Entries of the repository by their paths. */
  entries: ReadonlyMap<string, TreeEntry>;
  /** Paths of the submodules whose files are included. */
  modules: ReadonlySet<string>;
}

export type CommitPlanResult = { kind: 'problems'; problems: string[] } | CommitPlan;

/** Plans a commit with the same code as the agent. `added` are files that it doesn't have yet. Throws `Problem`. */
export async function planCommit(
  git: CheckoutGit,
  { spec }: Pick<GatewaySyncManifest, 'spec'>,
  { sources, added = [] }: { sources: Omit<TemplateSources, 'vars'>; added?: readonly TreeEntry[] },
): Promise<CommitPlanResult> {
  const { entries, modules } = await listCommit(git, sources.commit, spec.git.submodules ?? false);
  const listing = { entries: [...entries, ...added], modules };
  const byPath = new Map(listing.entries.map((entry) => [entry.path, entry]));
  const readLink = async (path: string) => linkText(await git.blob(byPath.get(path)?.blob ?? ''));
  const plan = await planCheckout({ spec }, { listing, readLink }, sources);
  if (plan.kind === 'problems')
    return { kind: 'problems', problems: [...missingModules(listing, spec), ...plan.problems] };
  return { ...plan, files: new Map(plan.files.map((file) => [file.path, file])), entries: byPath, modules };
}

function missingModules({ entries }: CheckoutListing, { git }: GatewaySyncManifest['spec']): string[] {
  const missing = git.submodules ? entries.filter(({ kind }) => kind === 'submodule') : [];
  return missing.map(({ path }) => `${path} is not checked out at that commit: run git submodule update --init`);
}

/** Lists a commit, with the files of submodules that are checked out. */
async function listCommit(git: CheckoutGit, commit: string, submodules: boolean): Promise<CheckoutListing> {
  const entries: TreeEntry[] = [];
  const modules = new Set<string>();
  for (const entry of entriesOf(await git.text(['ls-tree', '-r', '-z', '--full-tree', commit]))) {
    const { kind, path, blob } = entry;
    const inner = kind === 'submodule' && submodules ? git.inside(path) : undefined;
    if (!inner || !(await inner.hasCommit(blob))) {
      entries.push(entry);
      continue;
    }
    const module = await listCommit(inner, blob, submodules);
    for (const name of ['', ...module.modules]) modules.add(joinPath(path, name));
    for (const each of module.entries) entries.push({ ...each, path: joinPath(path, each.path) });
  }
  return { entries, modules };
}
