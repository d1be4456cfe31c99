import { desiredTree } from '../../agent/plan/desired-tree.ts';
import { excludeFilter } from '../../agent/plan/exclude-filter.ts';
import { type FileToCheck, matchChecks } from '../../agent/plan/files-to-check.ts';
import type { DesiredFile } from '../../agent/plan/plan-input.ts';
import { type TemplateSources, templateValues } from '../../agent/plan/template-values.ts';
import { type RenderedMapping, renderMappings } from '../../shared/domain/files/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { globProblems } from '../../shared/domain/files/validate-profiles.ts';
import { excludesOf, type ResolvedProfile, resolveProfile } from '../../shared/domain/kubernetes/resolve-profile.ts';
import { Problem } from '../client/problem.ts';
import { followCheckout, type ReadLink, readLinks } from './follow-checkout.ts';
import type { CheckoutListing } from './list-checkout.ts';
import type { GatewaySyncManifest } from './read-gateway-sync.ts';

/** The files that a gateway would get from a checkout, without their content. */
export type CheckoutPlan =
  | { kind: 'problems'; problems: string[] }
  | {
      kind: 'plan';
      files: DesiredFile[];
      checks: FileToCheck[];
      values: TemplateValues;
      mappings: RenderedMapping[];
      isExcluded: (source: string) => boolean;
    };

/** Plans the files of an empty gateway, with the same code as the agent. Throws `Problem` if the profile is missing. */
export async function planCheckout(
  { spec }: Pick<GatewaySyncManifest, 'spec'>,
  { listing, readLink }: { listing: CheckoutListing; readLink: ReadLink },
  sources: Omit<TemplateSources, 'vars'>,
): Promise<CheckoutPlan> {
  const profile = findProfile(spec.sync, sources.identity.profile);
  const values = templateValues({ ...sources, vars: profile.vars });
  const rendered = renderMappings(profile.mappings, values);
  const problems = [...(rendered.kind === 'problems' ? rendered.problems : []), ...globProblems(profile)];
  if (rendered.kind === 'problems' || problems.length > 0) return { kind: 'problems', problems };
  const isExcluded = excludeFilter(excludesOf(profile));
  const { mappings } = rendered;
  const scope = {
    readLink,
    sources: mappings.flatMap(({ source, keptLinks }) => (keptLinks === undefined ? [source] : [])),
    isExcluded,
    submodules: spec.git.submodules ?? false,
  };
  const followed =
    profile.links === 'refuse'
      ? { kind: 'entries' as const, entries: listing.entries }
      : await followCheckout(listing, scope);
  if (followed.kind === 'problems') return followed;
  const kept = mappings.flatMap(({ source, keptLinks }) => (keptLinks === undefined ? [] : [source]));
  const links = await readLinks(listing, { readLink, sources: kept });
  const result = desiredTree({ mappings, entries: followed.entries, ...links, isExcluded, owned: [] });
  if (result.kind === 'problems') return result;
  const files = [...result.tree.files.values()];
  return { kind: 'plan', files, checks: matchChecks(profile.checks, files), values, mappings, isExcluded };
}

function findProfile(sync: GatewaySyncManifest['spec']['sync'], name: string): ResolvedProfile {
  const profile = resolveProfile(sync, name);
  if (profile) return profile;
  throw new Problem(
    `the GatewaySync has no profile named ${name}, only ${Object.keys(sync.profiles).sort().join(', ')}`,
    'NotFound',
  );
}
