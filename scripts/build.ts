import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import manifest from '../package.json' with { type: 'json' };
import { slimDependencies } from './images/slim-dependencies.ts';

const root = join(import.meta.dirname, '..');
const PROGRAMS = ['receiver', 'controller', 'agent'] as const;

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

/** All programs, or those that are named on the command line. */
const wanted = PROGRAMS.filter((program) => process.argv.length <= 2 || process.argv.includes(program));

await Promise.all(
  wanted.map((program) =>
    build({ ...options, entryPoints: [join(root, program, 'main.ts')], outfile: join(root, 'dist', `${program}.mjs`) }),
  ),
);
