import { BOUNDS } from '../../api/bounds.ts';

/** A new value for a path in a JSON text; `json` is JSON. */
export interface JsonEdit {
  path: string[];
  json: string;
}

/** Edits below one path of a JSON text. */
export type EditTree = { kind: 'value'; json: string } | { kind: 'below'; children: Map<string, EditTree> };

export type EditTreeResult = { kind: 'tree'; tree: EditTree } | { kind: 'problem'; message: string };

/** Splits a dotted path, with `\.` and `\\` as escapes. Undefined for an empty key, or a path too long for recursion. */
export function parseJsonPath(text: string): string[] | undefined {
  if (text.length > BOUNDS.text) return undefined;
  const keys = text.includes('\\') ? splitEscaped(text) : text.split('.');
  return keys.includes('') || keys.length > BOUNDS.depth ? undefined : keys;
}

function splitEscaped(text: string): string[] {
  const keys = [''];
  for (const [part] of text.matchAll(/\\[.\\]|[\s\S]/g)) {
    if (part === '.') keys.push('');
    else keys[keys.length - 1] += part.length === 2 && part.startsWith('\\') ? part.slice(1) : part;
  }
  return keys;
}

/** Merges edits into one tree, independent of their order. Overlapping edits are a problem. */
export function editTree(edits: JsonEdit[]): EditTreeResult {
  const root: EditTree = { kind: 'below', children: new Map() };
  const sorted = [...edits].sort((a, b) => (a.path.join('\0') < b.path.join('\0') ? -1 : 1));
  for (const { path, json } of sorted) {
    let node: EditTree = root;
    for (const [index, key] of path.entries()) {
      const isLast = index === path.length - 1;
      const next: EditTree | undefined = node.children.get(key);
      if (next && (isLast || next.kind === 'value')) return conflict(path, path.slice(0, index + 1));
      const child: EditTree = next ?? (isLast ? { kind: 'value', json } : { kind: 'below', children: new Map() });
      node.children.set(key, child);
      if (child.kind === 'below') node = child;
    }
  }
  return { kind: 'tree', tree: root };
}

/** The JSON text of a tree at a path that doesn't exist yet. */
export function jsonOf(tree: EditTree): string {
  if (tree.kind === 'value') return tree.json;
  return `{${[...tree.children].map(([key, child]) => `${JSON.stringify(key)}: ${jsonOf(child)}`).join(', ')}}`;
}

function conflict(path: string[], shorter: string[]): EditTreeResult {
  const message = `${path.join('.')} and ${shorter.join('.')} overlap; remove one of them`;
  return { kind: 'problem', message };
}
