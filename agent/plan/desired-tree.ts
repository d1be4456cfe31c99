import { allFolders, isAgentPath, isFilePath, isWithin, joinPath } from '../../shared/domain/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import { patchesFor } from './file-patches.ts';
import type { OwnedFile } from './manifest.ts';
import type { DesiredTree, TreeEntry } from './plan-input.ts';

export type DesiredTreeResult = { kind: 'tree'; tree: DesiredTree } | { kind: 'problems'; problems: string[] };

export interface DesiredTreeInput {
  mappings: RenderedMapping[];
  entries: TreeEntry[];
  isExcluded: (source: string) => boolean;
  owned: Iterable<OwnedFile>;
}

/** Lays the mappings over one another, the later ones on top, and lists everything that stands in the way. */
export function desiredTree(input: DesiredTreeInput): DesiredTreeResult {
  const tree: DesiredTree = { files: new Map(), folders: new Set(), kept: new Set() };
  const problems = input.mappings.flatMap((mapping, index) =>
    layMapping(mapping, input, tree).map((problem) => `mappings[${index}]: ${problem}`),
  );
  tree.folders = allFolders(tree.files.keys());
  if (problems.length === 0) problems.push(...overlaps(tree));
  return problems.length > 0 ? { kind: 'problems', problems } : { kind: 'tree', tree };
}

function layMapping(mapping: RenderedMapping, input: DesiredTreeInput, tree: DesiredTree): string[] {
  const { source, type } = mapping;
  const single = input.entries.find(({ path }) => path === source);
  if (single) {
    if (type === 'dir' && single.kind === 'file') return [`${source} is a file, and type says dir`];
    const destination = fileDestination(mapping);
    if (isAgentPath(destination)) return [agentPath(destination)];
    return [...layEntry(single, destination, { mapping, input, tree, inside: '' }), ...unusedPatches(mapping, [''])];
  }
  const below = input.entries.filter(({ path }) => source === '' || path.startsWith(`${source}/`));
  if (below.length === 0 && source !== '') return layMissing(mapping, input, tree);
  if (type === 'file') return [`${source || '.'} is a folder, and type says file`];
  const insideOf = ({ path }: TreeEntry) => (source === '' ? path : path.slice(source.length + 1));
  const problems = below.flatMap((entry) => {
    const inside = insideOf(entry);
    return layEntry(entry, destinationOf(entry, mapping, inside), { mapping, input, tree, inside });
  });
  return mapping.patches.length === 0 ? problems : [...problems, ...unusedPatches(mapping, below.map(insideOf))];
}

/** A patch that fits no file is a slip of the pen, and not to be passed over. */
function unusedPatches({ source, patches }: RenderedMapping, files: string[]): string[] {
  return patches.flatMap(({ file, matches }, index) =>
    files.some(matches) ? [] : [`patches[${index}].file: ${source || '.'} holds no ${file || 'such file'}`],
  );
}

/** Where nothing is moved, one string serves as both paths: there may be very many. */
function destinationOf(entry: TreeEntry, { source, destination }: RenderedMapping, inside: string): string {
  return source === destination ? entry.path : joinPath(destination, inside);
}

function fileDestination({ source, destination, intoFolder }: RenderedMapping): string {
  return intoFolder ? joinPath(destination, source.slice(source.lastIndexOf('/') + 1)) : destination;
}

interface Layer {
  mapping: RenderedMapping;
  input: DesiredTreeInput;
  tree: DesiredTree;
  /** Path of the entry relative to the mapping's source; `''` where that is the entry itself. */
  inside: string;
}

function layEntry(entry: TreeEntry, path: string, { mapping, input, tree, inside }: Layer): string[] {
  if (input.isExcluded(entry.path)) return [];
  if (entry.kind !== 'file') return [notAFile(entry)];
  if (!isFilePath(path)) return [`${JSON.stringify(entry.path)} is no name for a file`];
  if (isAgentPath(path)) return [agentPath(path)];
  const { blob, executable } = entry;
  const patches = patchesFor(mapping.patches, inside);
  const file = { path, source: entry.path, blob, executable, template: mapping.template };
  tree.files.set(path, patches ? { ...file, patches } : file);
  tree.kept.delete(path);
  return [];
}

function layMissing(mapping: RenderedMapping, { entries, owned }: DesiredTreeInput, tree: DesiredTree): string[] {
  const { source } = mapping;
  const obstacle = entries.find(({ path, kind }) => kind !== 'file' && source.startsWith(`${path}/`));
  if (obstacle) return [notAFile(obstacle)];
  if (mapping.required) return [`the repository has no ${source} (required: false would leave it out)`];
  for (const file of owned) {
    if (!isWithin(file.source, source) || !isWithin(file.path, mapping.destination)) continue;
    tree.kept.add(file.path);
    tree.files.delete(file.path);
  }
  return [];
}

function notAFile({ path, kind }: TreeEntry): string {
  if (kind === 'unreadable') return `the name of ${path} in the repository is not UTF-8: rename it, or exclude it`;
  return kind === 'link'
    ? `${path} is a symbolic link in the repository, which is never followed: exclude it, or commit the file itself`
    : `${path} is a submodule, which is followed only where spec.git.submodules is true: set that, exclude it, or leave it out of the mappings`;
}

const agentPath = (path: string) => `${path} is the place of the agent's own files: exclude it`;

/** A file cannot lie where another file needs a folder. */
function overlaps({ files, folders, kept }: DesiredTree): string[] {
  return [...new Set([...folders, ...allFolders(kept)])].flatMap((folder) => {
    if (!files.has(folder) && !kept.has(folder)) return [];
    const inside = [...files.keys(), ...kept].find((path) => path.startsWith(`${folder}/`));
    return [`${folder} would have to be a file and, for ${inside}, a folder`];
  });
}
