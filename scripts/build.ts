import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import manifest from '../package.json' with { type: 'json' };
import { slimDependencies } from './images/slim-dependencies.ts';

const root = join(import.meta.dirname, '..');
/** The folder of each program, and the name of its bundle. */
const BUNDLES = { receiver: 'receiver', controller: 'controller', agent: 'agent', cli: 'kubectl-gs' };

/** CommonJS dependencies call `require` for Node's own modules, which an ES module has to make for them. */
const requireShim = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`;

const options: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'linked',
  logLevel: 'warning',
  banner: { js: requireShim },
  plugins: [slimDependencies(root)],
  define: { PROGRAM_VERSION: JSON.stringify(manifest.version) },
};

/** All programs, or those whose folders are named on the command line. */
const wanted = Object.entries(BUNDLES).filter(([folder]) => process.argv.length <= 2 || process.argv.includes(folder));

await Promise.all(
  wanted.map(([folder, name]) =>
    build({ ...options, entryPoints: [join(root, folder, 'main.ts')], outfile: join(root, 'dist', `${name}.mjs`) }),
  ),
);
