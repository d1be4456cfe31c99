import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build, type OutputFile } from 'esbuild';
import { bundleOptions } from './images/bundle-options.ts';
import { licencesOf } from './licences-of.ts';

const root = join(import.meta.dirname, '..');
/** The bundles of each program's directory by name, with their entry points. */
const BUNDLES = {
  receiver: { receiver: 'main.ts' },
  controller: { controller: 'main.ts' },
  agent: {
    agent: 'main.ts',
    'check-worker': 'content/check-worker.ts',
    'render-worker': 'content/render-worker.ts',
  },
  cli: { 'kubectl-stoker': 'main.ts' },
};

/** All programs, or those whose directories are named on the command line. */
const wanted = Object.entries(BUNDLES)
  .filter(([directory]) => process.argv.length <= 2 || process.argv.includes(directory))
  .flatMap(([directory, bundles]) => Object.entries(bundles).map((bundle) => [directory, ...bundle] as const));

await Promise.all(
  wanted.map(async ([directory, name, entry]) => {
    const entryPoints = [join(root, directory, entry)];
    const outfile = join(root, 'dist', `${name}.mjs`);
    const define = {
      ...bundleOptions.define,
      ...(directory === 'cli' && { PAGE_FILES: JSON.stringify(await readPage()) }),
    };
    const given = { define, entryPoints, outfile, metafile: true, write: false } as const;
    const { outputFiles, metafile } = await build({ ...bundleOptions, ...given });
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
    const legal = { path: `${outfile}.LEGAL.txt`, contents: Buffer.from(await licencesOf(inputs, root)) };
    await Promise.all([...outputFiles, legal].map(replaceFile));
  }),
);

/** Returns the page of `kubectl stoker ui`, which is part of its bundle, as files by name. */
async function readPage(): Promise<Record<string, string>> {
  const directory = join(root, 'cli/ui/page');
  const names = (await readdir(directory)).filter((name) => /\.(html|css|js|svg)$/.test(name));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const)),
  );
}

/** Writes a file in one step, and only if it changes, because it may be starting right now. */
async function replaceFile({ path, contents }: Pick<OutputFile, 'path' | 'contents'>): Promise<void> {
  const before = await readFile(path).catch(() => undefined);
  if (before?.equals(contents)) return;
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}
