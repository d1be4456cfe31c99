import { BOUNDS } from '../api/bounds.ts';
import type { Mapping } from '../api/sync.ts';
import { compileGlob, globProblem } from './glob.ts';
import { editTree, type JsonEdit, parseJsonPath } from './json-edits.ts';
import { relativePath } from './relative-path.ts';
import { renderTemplate, type TemplateValues } from './render-template.ts';

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

/** So many characters of a path are quoted. */
const MOST_QUOTED = 80;
const pathRule = `keys with dots between them, at most ${BOUNDS.depth} keys and ${BOUNDS.text} characters`;

/** Renders the values of a patch, and checks what can be checked without the file. */
export function renderPatch({ file: pattern, set }: Patch, values: TemplateValues): RenderedPatchResult {
  const file = relativePath(pattern ?? '');
  if (file.kind === 'problem') return problem(`.file: ${file.message}`);
  const unsupported = globProblem(file.path);
  if (unsupported) return problem(`.file: ${unsupported}`);
  const edits: JsonEdit[] = [];
  for (const [path, text] of Object.entries(set)) {
    const keys = parseJsonPath(path);
    if (!keys) return problem(`.set: ${JSON.stringify(path.slice(0, MOST_QUOTED))} is no path: ${pathRule}`);
    const rendered = renderTemplate(text, values);
    if (rendered.kind === 'problem') return problem(`.set.${path}: ${rendered.message}`);
    edits.push({ path: keys, json: jsonText(rendered.text) });
  }
  const tree = editTree(edits);
  if (tree.kind === 'problem') return problem(`.set: ${tree.message}`);
  return { kind: 'patch', patch: { file: file.path, matches: matcherOf(file.path), edits } };
}

/** A path is matched to the letter before it is taken for a glob: names may hold brackets. */
function matcherOf(file: string): (path: string) => boolean {
  if (!/[*?[{]/.test(file)) return (path) => path === file;
  const isMatch = compileGlob(file);
  return (path) => path === file || (path !== '' && isMatch(path));
}

/** A JSON text as it stands, so that no digit is lost; any other text as a JSON string. */
function jsonText(text: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch {
    return JSON.stringify(text);
  }
}

const problem = (message: string): RenderedPatchResult => ({ kind: 'problem', message });
