import path from 'node:path';
import type { BuildOptions } from 'esbuild';
import manifest from '../../package.json' with { type: 'json' };
import { slimDependencies } from './slim-dependencies.ts';

/** CommonJS dependencies call `require` for Node's own modules, which an ES module has to define. */
const requireShim = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`;

/** Options to bundle a program into the one file of its image. */
export const bundleOptions = {
  absWorkingDir: path.join(import.meta.dirname, '../..'),
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
