import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import type { Intent } from '../resource/judge-resource.ts';

/** What a sync is to bring about. */
export interface SyncAim {
  intent: Intent;
  mappings: RenderedMapping[];
  manifest: Manifest;
  values: TemplateValues;
  /** Sees to it that the content of files can be read. */
  provide: (files: DesiredFile[]) => Promise<void>;
  signal: AbortSignal;
}
