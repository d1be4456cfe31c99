import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type OutputFile } from 'esbuild';
import manifest from '../package.json' with { type: 'json' };
import { slimDependencies } from './images/slim-dependencies.ts';

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

/** CommonJS dependencies call `require` for Node's own modules, which an ES module has to define. */
const requireShim = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`;

/** Options to bundle a program into the one file of its image. */
const bundleOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  banner: { js: requireShim },
  plugins: [slimDependencies()],
  define: { PROGRAM_VERSION: JSON.stringify(manifest.version) },
} satisfies BuildOptions;

/** Matches the directory of the innermost package that contains a file. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENCE = /^(?:licen[cs]e|copying|notice)/i;

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
    const legal = { path: `${outfile}.LEGAL.txt`, contents: Buffer.from(await licencesOf(inputs)) };
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

/**
 * Returns the licences of the packages that files of a bundle belong to, because most of them require that it is included
 * with the bundle. Paths are relative to the root.
 */
async function licencesOf(files: Iterable<string>): Promise<string> {
  const directories = new Set([...files].flatMap((file) => PACKAGE.exec(file)?.[0] ?? []));
  const licences = await Promise.all([...directories].map((directory) => licenceOf(join(root, directory))));
  return [...new Set(licences)].sort().join(`\n${'-'.repeat(80)}\n\n`);
}

async function licenceOf(directory: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
  const names = (await readdir(directory)).filter((name) => LICENCE.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  const head = `${manifest.name} ${manifest.version} (${manifest.license})`;
  return `${[head, ...texts.map((text) => text.trim())].join('\n\n')}\n`;
}
