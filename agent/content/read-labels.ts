import { readFile } from 'node:fs/promises';

/** Reads the pod's labels from a file of the downward API: a line `key="value"` for each, the value quoted as in Go. */
export async function readLabels(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (!file) return new Map();
  const text = await readFile(file, 'utf8');
  return new Map(text.split('\n').flatMap((line) => parseLine(line)));
}

function parseLine(line: string): [string, string][] {
  const [, key, value] = /^([^=]+)=(".*")$/.exec(line) ?? [];
  // A label's value is made of letters, digits, '-', '_' and '.': Go and JSON quote it alike.
  return key && value ? [[key, JSON.parse(value) as string]] : [];
}
