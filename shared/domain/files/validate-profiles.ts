import { type ProfileSource, type ResolvedProfile, resolveProfile } from '../kubernetes/resolve-profile.ts';
import { WorkBudget } from '../limits/work-budget.ts';
import { globProblem } from './glob.ts';
import { renderMappings } from './render-mappings.ts';
import type { TemplateValues } from './render-template.ts';

/** Template values that every pod provides; any label is assumed to exist, because labels differ between pods. */
const POD_KEYS = /^(GatewayName|PodName|PodOrdinal|Namespace|Ref|Commit|CRName|Labels\..+)$/;

/**
 * Lists problems of the profiles' paths and patches that the CRD can't detect, with the agent's messages. Stops after the
 * profile that exceeds `most` problems.
 */
export function validateProfiles(sync: ProfileSource, most: number = Number.POSITIVE_INFINITY): string[] {
  const budget = new WorkBudget();
  const problems: string[] = [];
  for (const name of Object.keys(sync.profiles)) {
    const profile = resolveProfile(sync, name);
    if (!profile) continue;
    const rendered = renderMappings(profile.mappings, valuesOf(profile.vars), budget);
    const found = [...(rendered.kind === 'problems' ? rendered.problems : []), ...globProblems(profile, budget)];
    for (const problem of found) problems.push(`profiles.${name}.${problem}`);
    if (problems.length >= most || budget.isSpent) break;
  }
  return problems.slice(0, most);
}

/** Lists problems of a profile's patterns. */
export function globProblems(
  { excludePatterns, checks }: Pick<ResolvedProfile, 'excludePatterns' | 'checks'>,
  budget: WorkBudget = new WorkBudget(),
): string[] {
  const globs = [
    ...excludePatterns.map((glob, index) => [`excludePatterns[${index}]`, glob] as const),
    ...checks.map(({ files }, index) => [`checks[${index}].files`, files] as const),
  ];
  return globs.flatMap(([field, glob]) => {
    const problem = globProblem(glob, budget);
    return problem ? [`${field}: ${problem}`] : [];
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
