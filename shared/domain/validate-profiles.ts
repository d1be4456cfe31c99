import { globProblem } from './glob.ts';
import { renderMappings } from './render-mappings.ts';
import type { TemplateValues } from './render-template.ts';
import { type ProfileSource, type ResolvedProfile, resolveProfile } from './resolve-profile.ts';
import { WorkBudget } from './work-budget.ts';

/** What every pod gives to templates; labels differ from pod to pod, so any is taken for granted. */
const POD_KEYS = /^(GatewayName|PodName|PodOrdinal|Namespace|Ref|Commit|CRName|Labels\..+)$/;

/**
 * What is wrong with the paths and patches of the profiles beyond what the CRD can refuse, a sentence each, as the
 * agent would say it; empty where they are fine. Ends with the profile that brings more than `most`.
 */
export function validateProfiles(sync: ProfileSource, most: number = Number.POSITIVE_INFINITY): string[] {
  const budget = new WorkBudget();
  const problems: string[] = [];
  for (const name of Object.keys(sync.profiles)) {
    const profile = resolveProfile(sync, name);
    if (!profile) continue;
    const rendered = renderMappings(profile.mappings, valuesOf(profile.vars), budget);
    const found = [...(rendered.kind === 'problems' ? rendered.problems : []), ...excludeProblems(profile, budget)];
    for (const problem of found) problems.push(`profiles.${name}.${problem}`);
    if (problems.length >= most || budget.isSpent) break;
  }
  return problems.slice(0, most);
}

/** What is wrong with the patterns of a profile, a sentence each. */
export function excludeProblems(
  { excludePatterns }: Pick<ResolvedProfile, 'excludePatterns'>,
  budget: WorkBudget = new WorkBudget(),
): string[] {
  return excludePatterns.flatMap((pattern, index) => {
    const problem = globProblem(pattern, budget);
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
