import { join } from 'node:path';
import type { FileToCheck } from '../../agent/plan/files-to-check.ts';
import type { DesiredFile } from '../../agent/plan/plan-input.ts';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { specRef } from '../../shared/domain/git/spec-ref.ts';
import type { CheckoutGit } from './checkout-git.ts';
import { linksOnDisk } from './follow-checkout.ts';
import { listCheckout } from './list-checkout.ts';
import { planCheckout } from './plan-checkout.ts';
import { type CheckedOut, checkContent, listConverted, readDelivered } from './read-delivered.ts';
import type { GatewaySyncManifest } from './read-gateway-sync.ts';
import { unmatchedChecks } from './unmatched-checks.ts';
import { createTree, writeTreeFile } from './write-tree.ts';

/** A pod for which the files of a checkout are planned. */
export interface PlannedPod {
  gatewayName: string;
  podName: string;
  profile: string;
  namespace: string;
  labels: ReadonlyMap<string, string>;
}

/** A file that the gateway would get. */
export type PlannedFile = Pick<DesiredFile, 'path' | 'source' | 'executable' | 'mode' | 'linkText'>;

/** The files that the gateway would get. Not written if there are problems. */
export interface CheckedTree {
  files: PlannedFile[];
  /** Number of files that a check matches. */
  checked: number;
  problems: string[];
  /** Messages that don't make the check fail. */
  notes: string[];
}

interface Checkout {
  git: CheckoutGit;
  gatewaySync: GatewaySyncManifest;
  /** Ref for templates. If undefined, spec.git.ref, or the range. */
  ref: string | undefined;
  /** Empty directory to write the files to, if they have no problem. */
  output: string | undefined;
}

/** Plans and checks the files of a checkout as an agent does before it delivers them. */
export async function checkCheckout(
  { git, gatewaySync, ref = specRef(gatewaySync.spec.git), output }: Checkout,
  pod: PlannedPod,
): Promise<CheckedTree> {
  const { spec, metadata } = gatewaySync;
  const { labels, ...names } = pod;
  const { directory } = git;
  const commit = await git.head();
  const listing = await listCheckout(git, { submodules: spec.git.submodules ?? false });
  const identity = { ...names, podUid: '', crName: metadata.name };
  const checkedOut = { listing, readLink: linksOnDisk(directory) };
  const plan = await planCheckout(gatewaySync, checkedOut, { identity, labels, ref, commit });
  if (plan.kind === 'problems') {
    const submodules = spec.git.submodules ? listing.entries.filter(({ kind }) => kind === 'submodule') : [];
    const missing = submodules.map(({ path }) => path);
    const hint = missing.length > 0 ? [`not checked out: ${missing.join(', ')}; run git submodule update --init`] : [];
    return { files: [], checked: 0, problems: [...plan.problems, ...hint], notes: [] };
  }
  const checkout = { directory, converted: await listConverted(git) };
  const unmatched = unmatchedChecks(spec.sync, pod.profile, plan.files);
  const problems = [...(await findProblems(checkout, plan)), ...unmatched.problems];
  if (problems.length === 0 && output !== undefined) await writeTree(checkout, output, plan);
  return { files: plan.files, checked: plan.checks.length, problems, notes: unmatched.notes };
}

interface Planned {
  files: DesiredFile[];
  checks: FileToCheck[];
  values: TemplateValues;
}

async function findProblems(checkout: CheckedOut, { files, checks, values }: Planned): Promise<string[]> {
  const checkOf = new Map(checks.map((check) => [check.file, check]));
  const problems: string[] = [];
  for (const file of files) {
    const delivered = await readDelivered(checkout, file, values);
    const check = checkOf.get(file);
    if (delivered.kind === 'problem') problems.push(delivered.problem);
    else if (check) problems.push(...checkContent(delivered.content, check));
  }
  return problems;
}

async function writeTree(checkout: CheckedOut, output: string, { files, values }: Planned): Promise<void> {
  await createTree(output);
  for (const file of files) {
    const delivered = await readDelivered(checkout, file, values);
    if (delivered.kind === 'content') await writeTreeFile(join(output, file.path), delivered.content, file);
  }
}
