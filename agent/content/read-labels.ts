import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Reads the pod's labels from a file of the downward API: a line `key="value"` for each, the value quoted as in Go. */
export async function readLabels(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (!file) return new Map();
  return parse(await readFile(file, 'utf8'));
}

/**
 * The same for a decision that must not be overtaken by a newer one: the file is short, and in memory. Undefined where
 * nobody can say what the labels are.
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
  // A label's value is made of letters, digits, '-', '_' and '.': Go and JSON quote it alike.
  return key && value ? [[key, JSON.parse(value) as string]] : [];
}
