import path from 'node:path';
import { parseSync } from 'oxc-parser';

/** The imports of each file that are there when the program runs, relative to the root of the project. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Reads who imports whom out of sources by their paths. */
export function importGraph(sources: ReadonlyMap<string, string>): ImportGraph {
  return new Map([...sources].map(([file, source]) => [file, importsOf(file, source)]));
}

function importsOf(file: string, source: string): string[] {
  const { staticImports, staticExports } = parseSync(file, source).module;
  const imported = staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  const exported = staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
  );
  return [...imported, ...exported]
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => path.posix.join(path.posix.dirname(file), specifier));
}

/** The files that import a file, straight or by way of others; those with the shortest way first. */
export function importersOf(file: string, graph: ImportGraph): string[] {
  const importers = new Map<string, string[]>();
  for (const [importer, imported] of graph) {
    for (const each of imported) importers.set(each, [...(importers.get(each) ?? []), importer]);
  }
  const reached = new Set([file]);
  // A set gives what is added while it is gone through.
  for (const each of reached) for (const importer of importers.get(each) ?? []) reached.add(importer);
  return [...reached].slice(1);
}

/** A file and all that it imports, straight or by way of others. */
export function importedBy(file: string, graph: ImportGraph): string[] {
  const reached = new Set([file]);
  for (const each of reached) for (const imported of graph.get(each) ?? []) reached.add(imported);
  return [...reached].sort();
}
