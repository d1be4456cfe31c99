import path from 'node:path';
import { build } from 'esbuild';

/** CommonJS dependencies call `require`, which an ES module has to make for them. */
const banner = { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" };

/** Bundles a program of this directory, which then starts faster, and returns the bundle's path. */
export async function bundle(name: string, directory: string): Promise<string> {
  const outfile = path.join(directory, `${name}.mjs`);
  const entryPoints = [path.join(import.meta.dirname, `${name}.ts`)];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', banner, logLevel: 'error' });
  return outfile;
}
