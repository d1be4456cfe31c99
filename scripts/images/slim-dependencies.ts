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

/** What `node:http` loads only when somebody asks for it; `import` asks for every export of a module. */
const lazy = ['WebSocket', 'CloseEvent', 'MessageEvent'];
/**
 * `node:http` without its WebSocket, which is an HTTP client of its own (undici): 2.4 MB of resident memory and 13 ms of
 * processor time in each agent. Needless once Node's import of a builtin leaves its lazy exports alone.
 */
const slimHttp = `const http = process.getBuiltinModule('node:http');
export default http;
export const { ${Object.keys(process.getBuiltinModule('node:http')).filter((name) => !lazy.includes(name))} } = http;`;

/** The code in place of a dependency; undefined: the dependency itself. */
export function slimImport(name: string, importer: string): string | undefined {
  if (name === 'node:http' || name === 'http') return slimHttp;
  return stubs.find((stub) => stub.name === name && importer.includes(`/${stub.from}/dist/`))?.contents;
}

/**
 * Lets esbuild drop the modules of client-node of which nothing is used: its package.json doesn't say that it may. Paths
 * are joined here, because to have esbuild resolve each of them takes ten times as long.
 */
function withoutSideEffects({ path: name, importer, resolveDir }: OnResolveArgs): OnResolveResult | undefined {
  if (name === CLIENT_NODE) return { path: fileURLToPath(import.meta.resolve(CLIENT_NODE)), sideEffects: false };
  if (!importer.includes(`/${CLIENT_NODE}/dist/`)) return undefined;
  return { path: path.join(resolveDir, name), sideEffects: false };
}

/**
 * Leaves out of the bundles what dependencies bring along and nothing here calls. Resident memory of an idle controller,
 * median of five starts: 74 MB; with the generated API classes of client-node 90 MB, with its undici 78 MB. Of listhen
 * the programs take no certificate that it makes up, which is all that it has node-forge for (290 KB of each bundle).
 */
export function slimDependencies(): Plugin {
  return {
    name: 'slim-dependencies',
    setup(build) {
      build.onResolve({ filter: /^(@kubernetes\/client-node$|\.)/ }, withoutSideEffects);
      build.onResolve({ filter: /^(undici|node-forge|(node:)?http)$/ }, ({ path: name, kind, importer }) => {
        // `require` leaves lazy exports alone.
        const contents = kind === 'import-statement' ? slimImport(name, importer) : undefined;
        if (contents === undefined) return undefined;
        return { path: name.replace('node:', ''), namespace: 'slim', pluginData: contents, sideEffects: false };
      });
      build.onLoad({ filter: /.*/, namespace: 'slim' }, ({ pluginData }) => ({ contents: pluginData, loader: 'js' }));
    },
  };
}
