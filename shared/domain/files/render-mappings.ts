import { BOUNDS } from '../../api/bounds.ts';
import { MAPPING_DEFAULTS, type Mapping } from '../../api/sync.ts';
import { WorkBudget } from '../limits/work-budget.ts';
import { FILE_MODE_RULE, parseFileMode } from './file-mode.ts';
import { isAgentPath, isFilePath, isGitPath, isWithin, joinPath, relativePath } from './relative-path.ts';
import { type RenderedPatch, renderPatch } from './render-patch.ts';
import { renderTemplate, type TemplateValues } from './render-template.ts';

/** A mapping with rendered and normalized paths; `''` is the root. */
export interface RenderedMapping {
  source: string;
  /** The source as in the spec, if it contains the name of the gateway or its pod. */
  namedSource?: string | undefined;
  destination: string;
  /** The destination is written as a directory (`x/`, `.`), so a single file keeps its name in it. */
  intoDirectory: boolean;
  type: 'dir' | 'file' | undefined;
  required: boolean;
  template: boolean;
  /** Permission bits of the files. If omitted, the usual ones. */
  mode?: number | undefined;
  /** Whether the destination is a link to a complete tree. If omitted, it isn't. */
  isAtomic?: boolean | undefined;
  patches: RenderedPatch[];
  /** If links are delivered as links: the absolute paths that they can lead to or below. */
  keptLinks?: readonly string[] | undefined;
}

/** Returns the path in the repository of a file below a destination; undefined if it isn't below. */
export function sourceBelow(
  { source, destination }: Pick<RenderedMapping, 'source' | 'destination'>,
  path: string,
): string | undefined {
  if (path === destination || !isWithin(path, destination)) return undefined;
  return joinPath(source, destination === '' ? path : path.slice(destination.length + 1));
}

export type RenderedMappings =
  | { kind: 'mappings'; mappings: RenderedMapping[] }
  | { kind: 'problems'; problems: string[] };

/**
 * Renders the templates in the paths of mappings, and checks the results, because values are untrusted. Stops with a
 * problem when the budget is exhausted.
 */
export function renderMappings(
  mappings: readonly Mapping[],
  values: TemplateValues,
  budget: WorkBudget = new WorkBudget(),
): RenderedMappings {
  const problems: string[] = [];
  const rendered: RenderedMapping[] = [];
  for (const [index, mapping] of mappings.entries()) {
    rendered.push(
      renderMapping(mapping, { values, budget }, (problem) => problems.push(`mappings[${index}]${problem}`)),
    );
    if (budget.isSpent) break;
  }
  return problems.length > 0 ? { kind: 'problems', problems } : { kind: 'mappings', mappings: rendered };
}

interface Means {
  values: TemplateValues;
  budget: WorkBudget;
}

function renderMapping(mapping: Mapping, means: Means, tell: (problem: string) => void): RenderedMapping {
  const pathOf = (field: 'source' | 'destination') => {
    const result = renderPath(mapping[field], means);
    if (result.kind === 'path') return result;
    tell(`.${field}: ${result.message}`);
    return undefined;
  };
  const unknown = { path: '', isDirectory: true };
  const source = pathOf('source') ?? unknown;
  const known = pathOf('destination');
  const destination = known ?? unknown;
  const quoted = destination.path.slice(0, MAX_QUOTED);
  if (isAgentPath(destination.path)) tell(`.destination: ${quoted} is the directory of the agent's own files`);
  if (isGitPath(destination.path)) tell(`.destination: ${quoted} is in .git, or in what a file system takes for it`);
  const isAtomic = mapping.publish === 'atomic';
  if (isAtomic && mapping.type === 'file') tell('.publish: atomic needs a directory as the source, but type is file');
  if (isAtomic && known?.path === '') tell(`.publish: ${ROOT_PROBLEM}`);
  const mode = mapping.mode === undefined ? undefined : parseFileMode(mapping.mode);
  if (mapping.mode !== undefined && mode === undefined) tell(`.mode: ${FILE_MODE_RULE.message}`);
  const patches = (mapping.patches ?? []).flatMap((patch, number) => {
    const result = renderPatch(patch, means.values, means.budget);
    if (result.kind === 'patch') return [result.patch];
    tell(`.patches[${number}]${result.message}`);
    return [];
  });
  const { links, linkPrefixes = [] } = mapping;
  if (linkPrefixes.length > 0 && links !== 'keep')
    tell('.linkPrefixes: links is not keep, so no link is delivered: set links to keep');
  for (const prefix of linkPrefixes) if (!isAbsolutePath(prefix)) tell(`.linkPrefixes: ${PREFIX_PROBLEM}`);
  const isNamed = /\{\{\s*\.(GatewayName|PodName)\b/.test(mapping.source);
  return {
    source: source.path,
    namedSource: isNamed ? mapping.source : undefined,
    destination: destination.path,
    intoDirectory: destination.isDirectory,
    type: mapping.type,
    required: mapping.required ?? MAPPING_DEFAULTS.required,
    template: mapping.template ?? MAPPING_DEFAULTS.template,
    ...(mode !== undefined && { mode }),
    ...(isAtomic && { isAtomic }),
    patches,
    ...(links === 'keep' && { keptLinks: linkPrefixes }),
  };
}

/** Checks for an absolute path without empty, `.`, and `..` parts that isn't the root. */
const isAbsolutePath = (path: string): boolean => path.startsWith('/') && isFilePath(path.slice(1));

const PREFIX_PROBLEM = 'must be absolute paths below the root, such as /usr/share/nginx, without . and ..';

const ROOT_PROBLEM =
  'atomic makes the destination a symbolic link, and the root of the data volume cannot be one: set destination to a directory in it';

/** Maximum quoted characters of a path. */
const MAX_QUOTED = 80;

function renderPath(text: string, { values, budget }: Means) {
  const rendered = renderTemplate(text, values, BOUNDS.path);
  if (rendered.kind === 'problem') return rendered;
  const message = budget.take(rendered.text.length);
  return message ? { kind: 'problem' as const, message } : relativePath(rendered.text);
}
