import { type Identity, templateValues } from '../plan/template-values.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { readLabels } from './read-labels.ts';

/** What values of templates come from, besides the intent. */
export interface ValueSources {
  identity: Identity;
  /** The pod's labels as a downward API volume writes them. */
  labelsFile: string | undefined;
}

/** Returns the values of templates, with the labels that the pod has now. */
export async function currentValues(intent: Intent, { identity, labelsFile }: ValueSources) {
  const labels = await readLabels(labelsFile);
  return templateValues({ ...intent, vars: intent.profile.vars, identity, labels });
}
