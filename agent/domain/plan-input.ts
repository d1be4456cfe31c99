import type { TemplateValues } from '../../shared/domain/render-template.ts';
import type { DesiredTree } from './desired-tree.ts';
import type { LiveTree } from './live-tree.ts';
import type { Manifest } from './manifest.ts';

/** What a plan is made from: what must be, what the agent owns, what is there, and what templates are filled with. */
export interface PlanInput {
  desired: DesiredTree;
  manifest: Manifest;
  live: LiveTree;
  values: TemplateValues;
}
