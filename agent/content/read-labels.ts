import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Reads the pod's labels from a downward API file: a line `key="value"` per label, with the value quoted as in Go. */
export async function readLabels(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (!file) return new Map();
  return parse(await readFile(file, 'utf8'));
}

/**
 * Reads the labels synchronously, for decisions that a newer one must not overtake: the file is short and in memory.
 * Undefined if the file can't be read.
 */
export function labelsNow(file: string | undefined): ReadonlyMap<string, string> | undefined {
  try {
    return file === undefined ? undefined : parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

const parse = (text: string): ReadonlyMap<string, string> =>
  new Map(text.split('\n').flatMap((line) => parseLine(line)));

function parseLine(line: string): [string, string][] {
  const [, key, value] = /^([^=]+)=(".*")$/.exec(line) ?? [];
  // A label's value consists of letters, digits, '-', '_' and '.', which Go and JSON quote alike.
  return key && value ? [[key, JSON.parse(value) as string]] : [];
}
