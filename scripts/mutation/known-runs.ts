import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type ImportGraph, importedBy } from './import-graph.ts';
import type { TestRun, Workshop } from './workshop.ts';

const folder = path.join(import.meta.dirname, '../../node_modules/.cache/mutation');

/** Runs a test file without any mutant, unless that was done before with the same test and the same sources. */
export async function knownRun(
  test: string,
  { sources, graph, workshop }: { sources: ReadonlyMap<string, string>; graph: ImportGraph; workshop: Workshop },
): Promise<TestRun | undefined> {
  const contents = importedBy(test, graph).flatMap((file) => [file, sources.get(file) ?? '']);
  const key = createHash('sha256')
    .update([process.version, ...contents].join('\0'))
    .digest('hex');
  const file = path.join(folder, `${key}.json`);
  const known = await readFile(file, 'utf8').catch(() => undefined);
  if (known) {
    const { ms, coverage } = JSON.parse(known) as { ms: number; coverage: [string, never][] };
    return { ms, coverage: new Map(coverage) };
  }
  const run = await workshop.runOnce(test);
  if (run) {
    await mkdir(folder, { recursive: true });
    await writeFile(file, JSON.stringify({ ms: run.ms, coverage: [...run.coverage] }));
  }
  return run;
}
