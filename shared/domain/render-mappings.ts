import type { Mapping } from '../api/sync.ts';
import { isAgentPath, relativePath } from './relative-path.ts';
import { type RenderedPatch, renderPatch } from './render-patch.ts';
import { renderTemplate, type TemplateValues } from './render-template.ts';

/** A mapping whose paths are rendered and in normal form; `''` is the root. */
export interface RenderedMapping {
  source: string;
  destination: string;
  /** Whether the destination was written as a folder (`x/`, `.`): a single file goes into it under its own name. */
  intoFolder: boolean;
  type: 'dir' | 'file' | undefined;
  required: boolean;
  template: boolean;
  patches: RenderedPatch[];
}

export type RenderedMappings =
  | { kind: 'mappings'; mappings: RenderedMapping[] }
  | { kind: 'problems'; problems: string[] };

/** Renders the templates in the paths of mappings and checks the outcome: values may hold anything. */
export function renderMappings(mappings: Mapping[], values: TemplateValues): RenderedMappings {
  const problems: string[] = [];
  const rendered = mappings.map((mapping, index) => {
    const pathOf = (field: 'source' | 'destination') => {
      const result = renderPath(mapping[field], values);
      if (result.kind === 'path') return result;
      problems.push(`mappings[${index}].${field}: ${result.message}`);
      return { path: '', folder: true };
    };
    const source = pathOf('source');
    const destination = pathOf('destination');
    if (isAgentPath(destination.path)) {
      problems.push(`mappings[${index}].destination: ${destination.path} is the folder of the agent's own files`);
    }
    const patches = (mapping.patches ?? []).flatMap((patch, number) => {
      const result = renderPatch(patch, values);
      if (result.kind === 'patch') return [result.patch];
      problems.push(`mappings[${index}].patches[${number}]${result.message}`);
      return [];
    });
    return {
      source: source.path,
      destination: destination.path,
      intoFolder: destination.folder,
      type: mapping.type,
      required: mapping.required ?? true,
      template: mapping.template ?? false,
      patches,
    };
  });
  return problems.length > 0 ? { kind: 'problems', problems } : { kind: 'mappings', mappings: rendered };
}

function renderPath(text: string, values: TemplateValues) {
  const rendered = renderTemplate(text, values);
  return rendered.kind === 'rendered' ? relativePath(rendered.text) : rendered;
}
