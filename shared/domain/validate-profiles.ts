import type { Mapping } from '../api/sync.ts';
import { renderTemplate, type TemplateValues } from './render-template.ts';
import { type ProfileSource, resolveProfile } from './resolve-profile.ts';

/** What every pod gives to templates; labels differ from pod to pod, so any is taken for granted. */
const POD_KEYS = /^(GatewayName|PodName|PodOrdinal|Namespace|Ref|Commit|CRName|Labels\..+)$/;

/** What is wrong with the profiles beyond what the CRD can refuse, a sentence each; empty where they are fine. */
export function validateProfiles(sync: ProfileSource): string[] {
  return Object.keys(sync.profiles).flatMap((name) => {
    const profile = resolveProfile(sync, name);
    if (!profile) return [];
    const values = valuesOf(profile.vars);
    return profile.mappings.flatMap((mapping, index) =>
      problemsOf(mapping, values).map((problem) => `profiles.${name}.mappings[${index}].${problem}`),
    );
  });
}

function problemsOf(mapping: Mapping, values: TemplateValues): string[] {
  return (['source', 'destination'] as const).flatMap((field) => {
    const rendered = renderTemplate(mapping[field], values);
    return rendered.kind === 'problem' ? [`${field}: ${rendered.message}`] : [];
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
