import { globProblem } from './glob.ts';
import { renderMappings } from './render-mappings.ts';
import type { TemplateValues } from './render-template.ts';
import { type ProfileSource, type ResolvedProfile, resolveProfile } from './resolve-profile.ts';

/** What every pod gives to templates; labels differ from pod to pod, so any is taken for granted. */
const POD_KEYS = /^(GatewayName|PodName|PodOrdinal|Namespace|Ref|Commit|CRName|Labels\..+)$/;

/**
 * What is wrong with the paths and patches of the profiles beyond what the CRD can refuse, a sentence each, as the
 * agent would say it; empty where they are fine.
 */
export function validateProfiles(sync: ProfileSource): string[] {
  return Object.keys(sync.profiles).flatMap((name) => {
    const profile = resolveProfile(sync, name);
    if (!profile) return [];
    const rendered = renderMappings(profile.mappings, valuesOf(profile.vars));
    const problems = [...(rendered.kind === 'problems' ? rendered.problems : []), ...excludeProblems(profile)];
    return problems.map((problem) => `profiles.${name}.${problem}`);
  });
}

/** What is wrong with the patterns of a profile, a sentence each. */
export function excludeProblems({ excludePatterns }: Pick<ResolvedProfile, 'excludePatterns'>): string[] {
  return excludePatterns.flatMap((pattern, index) => {
    const problem = globProblem(pattern);
    return problem ? [`excludePatterns[${index}]: ${problem}`] : [];
  });
}

function valuesOf(vars: Record<string, string>): TemplateValues {
  return {
    get: (key) => {
      if (POD_KEYS.test(key)) return 'x';
      const name = key.replace(/^Vars\./, '');
      return name !== key && Object.hasOwn(vars, name) ? vars[name] : undefined;
    },
  };
}
