import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OnResolveArgs, OnResolveResult, Plugin } from 'esbuild';

const CLIENT_NODE = '@kubernetes/client-node';

const stubs = [
  {
    from: 'client-node',
    name: 'undici',
    contents: 'export class Agent {} export class ProxyAgent {} export function fetch() {}',
  },
  { from: 'listhen', name: 'node-forge', contents: 'export default {}' },
];

/** Exports that `node:http` loads only when they are used; `import` uses every export of a module. */
const lazy = ['WebSocket', 'CloseEvent', 'MessageEvent'];
/**
 * `node:http` without its WebSocket, which has its own HTTP client (undici): 2.4 MB of resident memory and 13 ms of
 * CPU time in each agent. Obsolete once Node's import of a builtin doesn't load its lazy exports.
 */
const slimHttp = `const http = process.getBuiltinModule('node:http');
export default http;
export const { ${Object.keys(process.getBuiltinModule('node:http')).filter((name) => !lazy.includes(name))} } = http;`;

/** Returns the code that replaces a dependency; undefined keeps the dependency. */
export function slimImport(name: string, importer: string): string | undefined {
  if (name === 'node:http' || name === 'http') return slimHttp;
  return stubs.find((stub) => stub.name === name && importer.includes(`/${stub.from}/dist/`))?.contents;
}

/**
 * Lets esbuild drop unused modules of client-node, which its package.json doesn't allow explicitly. Paths
 * are joined here, because resolving each of them with esbuild takes ten times as long.
 */
function withoutSideEffects({ path: name, importer, resolveDir }: OnResolveArgs): OnResolveResult | undefined {
  if (name === CLIENT_NODE) return { path: fileURLToPath(import.meta.resolve(CLIENT_NODE)), sideEffects: false };
  if (!importer.includes(`/${CLIENT_NODE}/dist/`)) return undefined;
  return { path: path.join(resolveDir, name), sideEffects: false };
}

/**
 * Escapes a character in a regular expression, which esbuild leaves as it is. A single one doubles the memory of a
 * bundle's source, because V8 then keeps it with two bytes per character: 1.3 MB in the controller.
 */
const inAscii = (source: string): string =>
  source.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * Removes unused parts of dependencies from the bundles. Resident memory of an idle controller,
 * median of five starts: 74 MB; with the generated API classes of client-node 90 MB, with its undici 78 MB. listhen
 * uses node-forge only to generate certificates, which the programs don't need (290 KB of each bundle).
 */
export function slimDependencies(): Plugin {
  return {
    name: 'slim-dependencies',
    setup(build) {
      build.onResolve({ filter: /^(@kubernetes\/client-node$|\.)/ }, withoutSideEffects);
      build.onResolve({ filter: /^(undici|node-forge|(node:)?http)$/ }, ({ path: name, kind, importer }) => {
        // `require` doesn't load lazy exports.
        const contents = kind === 'import-statement' ? slimImport(name, importer) : undefined;
        if (contents === undefined) return undefined;
        return { path: name.replace('node:', ''), namespace: 'slim', pluginData: contents, sideEffects: false };
      });
      build.onLoad({ filter: /\/rou3\/dist\// }, async ({ path: file }) => ({
        contents: inAscii(await readFile(file, 'utf8')),
      }));
      build.onLoad({ filter: /.*/, namespace: 'slim' }, ({ pluginData }) => ({ contents: pluginData, loader: 'js' }));
    },
  };
}
