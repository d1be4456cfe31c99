import { isAgentPath, isFilePath, isTooLong, isWithin } from '../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/files/render-mappings.ts';
import { allDirectories, directoriesOf } from './directories.ts';
import { desiredFile, type Place, placeOf } from './layering.ts';
import { unkeptLink } from './links/describe-broken-links.ts';
import { keptLinkProblem } from './links/kept-link.ts';
import type { LinkText } from './links/link-text.ts';
import { mappedPathOf, type OwnedFile } from './manifest.ts';
import type { DesiredTree, TreeEntry } from './plan-input.ts';
import { rootOf, treeRoots } from './trees.ts';

export type DesiredTreeResult = { kind: 'tree'; tree: DesiredTree } | { kind: 'problems'; problems: string[] };

export interface DesiredTreeInput {
  mappings: RenderedMapping[];
  entries: TreeEntry[];
  /** Entries with links as links, for mappings that keep them. If omitted, the same. */
  listed?: readonly TreeEntry[];
  /** Texts of the links, by their blobs. If omitted, none is kept. */
  texts?: ReadonlyMap<string, LinkText>;
  isExcluded: (source: string) => boolean;
  owned: Iterable<OwnedFile>;
}

/** Lays the mappings on top of each other, the later ones above, and lists all problems. */
export function desiredTree(input: DesiredTreeInput): DesiredTreeResult {
  const tree: DesiredTree = { files: new Map(), directories: new Set(), retained: new Set() };
  const problems = input.mappings.flatMap((mapping, index) =>
    layMapping(mapping, input, tree).map((problem) => `mappings[${index}]: ${problem}`),
  );
  tree.directories = allDirectories(tree.files.keys());
  if (problems.length === 0) problems.push(...overlaps(tree));
  return problems.length > 0 ? { kind: 'problems', problems } : { kind: 'tree', tree };
}

function layMapping(mapping: RenderedMapping, input: DesiredTreeInput, tree: DesiredTree): string[] {
  const { source, type } = mapping;
  const entries = entriesOf(mapping, input);
  const single = entries.find(({ path }) => path === source);
  if (single && isKept(single, mapping) && (type !== undefined || mapping.isAtomic))
    return [
      `${source} is a symbolic link, but type or publish needs a file or directory: omit them, or map another path`,
    ];
  if (single) {
    const what = single.target === undefined ? 'is a file' : `leads to the file ${single.target}`;
    if (type === 'dir' && single.kind === 'file') return [`${source} ${what}, but type is dir`];
    if (mapping.isAtomic && single.kind === 'file')
      return [`${source} ${what}, but publish: atomic needs a directory as its source`];
    return [...layEntries([single], { mapping, input, tree }), ...unusedPatches(mapping, [single])];
  }
  const below = entries.filter(({ path }) => isWithin(path, source));
  if (below.length === 0 && source !== '') return layMissing(mapping, input, tree);
  if (type === 'file') return [`${source || '.'} is a directory, but type is file`];
  return [...layEntries(below, { mapping, input, tree }), ...unusedPatches(mapping, below)];
}

const entriesOf = ({ keptLinks }: RenderedMapping, { entries, listed = entries }: DesiredTreeInput) =>
  keptLinks === undefined ? entries : listed;

/** Checks for a link that is delivered as it is. */
const isKept = ({ kind }: TreeEntry, { keptLinks }: RenderedMapping): boolean =>
  kind === 'link' && keptLinks !== undefined;

/** A patch that matches no file is a mistake. */
function unusedPatches(mapping: RenderedMapping, entries: TreeEntry[]): string[] {
  const { source, patches } = mapping;
  if (patches.length === 0) return [];
  const files = entries.map(({ path }) => placeOf(path, mapping).inside);
  return patches.flatMap(({ file, matches }, index) =>
    files.some(matches) ? [] : [`patches[${index}].file: ${source || '.'} contains no ${file || 'such file'}`],
  );
}

interface Layer {
  mapping: RenderedMapping;
  input: DesiredTreeInput;
  tree: DesiredTree;
}

function layEntries(entries: TreeEntry[], layer: Layer): string[] {
  const problems: string[] = [];
  for (const entry of entries) {
    const problem = layEntry(entry, layer);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function layEntry(entry: TreeEntry, { mapping, input, tree }: Layer): string | undefined {
  const place = placeOf(entry.path, mapping);
  const { destination } = place;
  if (place.inside === '' && isAgentPath(destination)) return agentPath(destination);
  if (input.isExcluded(entry.path)) return undefined;
  if (isTooLong(destination)) return tooLong(destination);
  const isLink = isKept(entry, mapping);
  if (entry.kind !== 'file' && !isLink) return notAFile(entry);
  if (!isFilePath(destination)) return `${JSON.stringify(entry.path)} isn't a valid file name`;
  if (isAgentPath(destination)) return agentPath(destination);
  const problem = isLink ? layLink(entry, place, { mapping, input, tree }) : undefined;
  if (problem !== undefined) return problem;
  if (!isLink) tree.files.set(destination, desiredFile(entry, place));
  tree.retained.delete(destination);
  return undefined;
}

/** Templates, patches, and modes don't apply to links. */
function layLink(
  { path, blob }: TreeEntry,
  { destination }: Place,
  { mapping, input, tree }: Layer,
): string | undefined {
  const text = input.texts?.get(blob);
  if (!text) throw new Error(`the text of the link ${path} wasn't read`);
  const within = rootOf(destination, treeRoots(input.mappings)) ?? '';
  const reason = keptLinkProblem({ path: destination, text, within, prefixes: mapping.keptLinks ?? [] });
  if (reason !== undefined) return unkeptLink(path, text, reason);
  const file = { path: destination, source: path, blob, executable: false, template: false, linkText: text.text };
  tree.files.set(destination, file);
  return undefined;
}

function layMissing(mapping: RenderedMapping, input: DesiredTreeInput, tree: DesiredTree): string[] {
  const { isExcluded, owned } = input;
  const { source } = mapping;
  const entries = entriesOf(mapping, input);
  const obstacle = entries.find(({ path, kind }) => kind !== 'file' && source.startsWith(`${path}/`));
  if (obstacle) return isExcluded(obstacle.path) ? [] : [notAFile(obstacle)];
  if (mapping.required) return [noSource(mapping)];
  for (const file of owned) {
    if (!isWithin(mappedPathOf(file), source) || !isWithin(file.path, mapping.destination)) continue;
    tree.retained.add(file.path);
    tree.files.delete(file.path);
  }
  return [];
}

function noSource({ source, namedSource }: RenderedMapping): string {
  if (namedSource === undefined)
    return `the repository has no ${source}: correct the mapping, or set required: false if it is optional`;
  return `the repository has no ${source} (${namedSource}): set the annotation sync.io/gateway-name on the gateway's pod, commit that path, or set required: false if it is optional`;
}

function notAFile({ path, kind }: TreeEntry): string {
  if (kind === 'unreadable') return `the name of ${path} in the repository isn't UTF-8: rename it, or exclude it`;
  return kind === 'link'
    ? `${path} is a symbolic link in the repository that is neither followed nor kept here: exclude it, commit the file itself, or set links to follow, or to keep in the mapping`
    : `${path} is a submodule, and spec.git.submodules isn't true: set it to true, exclude the path, or omit it from the mappings`;
}

const agentPath = (path: string) => `${path} is reserved for the agent's files: exclude it`;

const tooLong = (path: string) =>
  `${path.slice(0, 100)}… is too long: a path can have at most 3,072 bytes and 128 directories, and each name in it 255 bytes. Shorten it, or exclude it`;

/** Finds files whose path another file needs as a directory. */
function overlaps({ files, directories, retained }: DesiredTree): string[] {
  const isFile = (path: string) => files.has(path) || retained.has(path);
  if (![...directories, ...allDirectories(retained)].some(isFile)) return [];
  const inside = new Map<string, string>();
  for (const path of [...files.keys(), ...retained]) {
    for (const directory of directoriesOf(path)) {
      if (isFile(directory) && !inside.has(directory)) inside.set(directory, path);
    }
  }
  return [...inside].map(
    ([directory, path]) =>
      `${directory} is mapped as a file, but ${path} needs it to be a directory: change the mappings, or exclude one`,
  );
}
