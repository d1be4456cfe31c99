import path from 'node:path';
import type { Plugin } from 'esbuild';

const root = path.join(import.meta.dirname, '../..');
const config = path.join(root, 'node_modules/@kubernetes/client-node/dist/config.js');
const stubs = [
  { from: 'client-node', name: 'undici', contents: 'export class Agent {} export class ProxyAgent {}' },
  {
    from: 'client-node',
    name: './gen/index.js',
    contents: 'export function createConfiguration() {} export class ServerConfiguration {}',
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

/** What an import leads to in the place of all that the dependency has: a file, or code; undefined: what it says. */
export function slimImport(name: string, importer: string): { path: string } | { contents: string } | undefined {
  if (name === '@kubernetes/client-node') return { path: config };
  if (name === 'node:http' || name === 'http') return { contents: slimHttp };
  return stubs.find((stub) => stub.name === name && importer.includes(`/${stub.from}/dist/`));
}

/**
 * Leaves out of the bundles what dependencies bring along and nobody here calls. Of client-node the programs take only
 * the configuration and the credentials: without the generated classes of every API and an HTTP client they need 18 MB
 * less of resident memory (100 to 82 MB for an idle controller). Of listhen they take no certificate that it makes up,
 * which is all that it has node-forge for (290 KB of each bundle).
 */
export function slimDependencies(): Plugin {
  return {
    name: 'slim-dependencies',
    setup(build) {
      build.onResolve(
        { filter: /^(@kubernetes\/client-node|undici|\.\/gen\/index\.js|node-forge|(node:)?http)$/ },
        (args) => {
          // `require` leaves lazy exports alone.
          if (args.kind !== 'import-statement') return undefined;
          const slim = slimImport(args.path, args.importer);
          if (!slim) return undefined;
          if ('path' in slim) return { path: slim.path, sideEffects: false };
          return {
            path: args.path.replace('node:', ''),
            namespace: 'slim',
            pluginData: slim.contents,
            sideEffects: false,
          };
        },
      );
      build.onLoad({ filter: /.*/, namespace: 'slim' }, ({ pluginData }) => ({ contents: pluginData, loader: 'js' }));
    },
  };
}
