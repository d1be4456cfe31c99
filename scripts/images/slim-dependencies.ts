import path from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * Leaves out of the bundles what dependencies bring along and nobody here calls. Of client-node the programs take only
 * the configuration and the credentials: without the generated classes of every API and an HTTP client they need 18 MB
 * less of resident memory (100 to 82 MB for an idle controller). Of listhen they take no certificate that it makes up,
 * which is all that it has node-forge for (290 KB of each bundle).
 */
export function slimDependencies(root: string): Plugin {
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
  return {
    name: 'slim-dependencies',
    setup(build) {
      build.onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({ path: config, sideEffects: false }));
      build.onResolve({ filter: /^(undici|\.\/gen\/index\.js|node-forge)$/ }, ({ path: name, importer }) =>
        stubs.some((stub) => stub.name === name && importer.includes(`/${stub.from}/dist/`))
          ? { path: name, namespace: 'slim', sideEffects: false }
          : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'slim' }, ({ path: name }) => ({
        contents: stubs.find((stub) => stub.name === name)?.contents ?? '',
        loader: 'js',
      }));
    },
  };
}
