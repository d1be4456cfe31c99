import type { TemplateValues } from '../../shared/domain/render-template.ts';
import type { DesiredTree } from './desired-tree.ts';
import type { LiveTree } from './live-tree.ts';
import type { Manifest, OwnedFile } from './manifest.ts';

/** What a plan is made from: what must be, what the agent owns, what is there, and what templates are filled with. */
export interface PlanInput {
  desired: DesiredTree;
  manifest: Manifest;
  live: LiveTree;
  values: TemplateValues;
  /** Owned files that are known to be right, and that the above leaves out. */
  untouched?: number;
  /** What files will hold, by path, where it was found out: only then a file that is rendered is known to be right. */
  contents?: ReadonlyMap<string, PreviewedContent>;
}

/** What a file will hold. */
export interface PreviewedContent {
  sha256: string;
  /** For templates: the keys that it uses, and a hash of their values. */
  inputs: OwnedFile['inputs'];
}
