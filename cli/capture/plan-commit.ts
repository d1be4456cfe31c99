import { linkText } from '../../agent/plan/links/link-text.ts';
import type { DesiredFile, TreeEntry } from '../../agent/plan/plan-input.ts';
import type { TemplateSources } from '../../agent/plan/template-values.ts';
import type { CheckoutGit } from '../checkout/checkout-git.ts';
import { type CheckoutListing, listCheckout } from '../checkout/list-checkout.ts';
import { type CheckoutPlan, planCheckout } from '../checkout/plan-checkout.ts';
import type { GatewaySyncManifest } from '../checkout/read-gateway-sync.ts';

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
  const { entries, modules } = await listCheckout(git, {
    submodules: spec.git.submodules ?? false,
    commit: sources.commit,
  });
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
