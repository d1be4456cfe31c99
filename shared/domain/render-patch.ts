import { BOUNDS } from '../api/bounds.ts';
import type { Mapping } from '../api/sync.ts';
import { compileGlob, globProblem } from './glob.ts';
import { editTree, type JsonEdit, parseJsonPath } from './json-edits.ts';
import { relativePath } from './relative-path.ts';
import { renderTemplate, type TemplateValues } from './render-template.ts';
import { WorkBudget } from './work-budget.ts';

type Patch = NonNullable<Mapping['patches']>[number];

/** A patch whose values are rendered. */
export interface RenderedPatch {
  /** Path or glob relative to the mapping's source; `''` where the mapping is a single file. */
  file: string;
  /** Whether it is meant for a file, named relative to the mapping's source. */
  matches: (file: string) => boolean;
  edits: JsonEdit[];
}

export type RenderedPatchResult = { kind: 'patch'; patch: RenderedPatch } | { kind: 'problem'; message: string };

/** A value takes as long as so many characters of it, however short it is. */
const VALUE_COSTS = 32;
/** So many characters of a path are quoted. */
const MOST_QUOTED = 80;
const pathRule = `keys with dots between them, at most ${BOUNDS.depth} keys and ${BOUNDS.text} characters`;

/** Renders the values of a patch, and checks what can be checked without the file. */
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
    if (!keys) return problem(`.set: ${JSON.stringify(path.slice(0, MOST_QUOTED))} is no path: ${pathRule}`);
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

/** What is not needed to check a patch is made when it is used: it takes a hundred times the room or the time. */
function patchOf(file: string, values: RenderedValue[]): RenderedPatch {
  let edits: JsonEdit[] | undefined;
  let isMatch: ((path: string) => boolean) | undefined;
  return {
    file,
    // A separate field, so that patches are compared by it.
    get edits() {
      edits ??= values.map(({ path, text }) => ({ path, json: jsonText(text) }));
      return edits;
    },
    // A path is matched to the letter before it is taken for a glob: names may hold brackets.
    matches: (path) => {
      if (path === file || path === '' || !/[*?[{]/.test(file)) return path === file;
      isMatch ??= compileGlob(file);
      return isMatch(path);
    },
  };
}

/** A JSON text as it is, so that no digit is lost; any other text as a JSON string. */
function jsonText(text: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch {
    return JSON.stringify(text);
  }
}

const problem = (message: string): RenderedPatchResult => ({ kind: 'problem', message });
