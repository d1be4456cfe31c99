import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build, type OutputFile } from 'esbuild';
import { bundleOptions } from './images/bundle-options.ts';
import { licencesOf } from './licences-of.ts';

const root = join(import.meta.dirname, '..');
/** The directory of each program, and the name of its bundle. */
const BUNDLES = { receiver: 'receiver', controller: 'controller', agent: 'agent', cli: 'kubectl-stoker' };

/** All programs, or those whose directories are named on the command line. */
const wanted = Object.entries(BUNDLES).filter(
  ([directory]) => process.argv.length <= 2 || process.argv.includes(directory),
);

await Promise.all(
  wanted.map(async ([directory, name]) => {
    const entryPoints = [join(root, directory, 'main.ts')];
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
