import { BOUNDS } from '../../api/bounds.ts';
import type { Mapping } from '../../api/sync.ts';
import { WorkBudget } from '../limits/work-budget.ts';
import { compileGlob, globProblem } from './glob.ts';
import { editTree, type JsonEdit, parseJsonPath } from './json-edits.ts';
import { relativePath } from './relative-path.ts';
import { renderTemplate, type TemplateValues } from './render-template.ts';

type Patch = NonNullable<Mapping['patches']>[number];

/** A patch with rendered values. */
export interface RenderedPatch {
  /** Path or glob relative to the mapping's source; `''` if the mapping is a single file. */
  file: string;
  /** Checks whether it applies to a file, relative to the mapping's source. */
  matches: (file: string) => boolean;
  edits: JsonEdit[];
}

export type RenderedPatchResult = { kind: 'patch'; patch: RenderedPatch } | { kind: 'problem'; message: string };

/** Minimum cost of a value, in characters. */
const VALUE_COSTS = 32;
/** Maximum quoted characters of a path. */
const MAX_QUOTED = 80;
const pathRule = `at most ${BOUNDS.depth} keys and ${BOUNDS.text} characters, separated by dots`;

/** Renders the values of a patch, with all checks that don't require the file. */
export function renderPatch(
  { file: pattern, set }: Patch,
  values: TemplateValues,
  budget: WorkBudget = new WorkBudget(),
): RenderedPatchResult {
  const file = relativePath(pattern ?? '');
  if (file.kind === 'problem') return problem(`.file: ${file.message}`);
  const unsupported = globProblem(file.path, budget);
  if (unsupported) return problem(`.file: ${unsupported}`);
  const rendered: RenderedValue[] = [];
  for (const [path, text] of Object.entries(set)) {
    const keys = parseJsonPath(path);
    if (!keys) return problem(`.set: ${JSON.stringify(path.slice(0, MAX_QUOTED))} isn't a path of ${pathRule}`);
    const spent = budget.take(VALUE_COSTS);
    if (spent) return problem(`.set: ${spent}`);
    const value = renderTemplate(text, values, BOUNDS.value);
    if (value.kind === 'problem') return problem(`.set.${path}: ${value.message}`);
    const isTooMuch = budget.take(value.text.length);
    if (isTooMuch) return problem(`.set: ${isTooMuch}`);
    rendered.push({ path: keys, text: value.text });
  }
  const tree = editTree(rendered.map(({ path }) => ({ path, json: '' })));
  if (tree.kind === 'problem') return problem(`.set: ${tree.message}`);
  return { kind: 'patch', patch: patchOf(file.path, rendered) };
}

interface RenderedValue {
  path: string[];
  text: string;
}

/** Creates the parts that checks don't need only when they are used, because they cost about 100 times as much. */
function patchOf(file: string, values: RenderedValue[]): RenderedPatch {
  let edits: JsonEdit[] | undefined;
  let isMatch: ((path: string) => boolean) | undefined;
  return {
    file,
    // A separate field, because patches are compared by it.
    get edits() {
      edits ??= values.map(({ path, text }) => ({ path, json: jsonText(text) }));
      return edits;
    },
    // A literal match comes first, because names can contain brackets.
    matches: (path) => {
      if (path === file || path === '' || !/[*?[{]/.test(file)) return path === file;
      isMatch ??= compileGlob(file);
      return isMatch(path);
    },
  };
}

/** Returns JSON unchanged, so that no digit is lost, and any other text as a JSON string. */
function jsonText(text: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch {
    return JSON.stringify(text);
  }
}

const problem = (message: string): RenderedPatchResult => ({ kind: 'problem', message });
