import path from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * Leaves out of the bundles what client-node brings along and nobody here calls: the generated classes of every API
 * and an HTTP client. The programs take only the configuration and the credentials from it. Saves 18 MB of resident
 * memory in each program (100 to 82 MB for an idle controller).
 */
export function slimClientNode(root: string): Plugin {
  const config = path.join(root, 'node_modules/@kubernetes/client-node/dist/config.js');
  const stubs: Record<string, string> = {
    undici: 'export class Agent {} export class ProxyAgent {}',
    gen: 'export function createConfiguration() {} export class ServerConfiguration {}',
  };
  return {
    name: 'slim-client-node',
    setup(build) {
      build.onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({ path: config, sideEffects: false }));
      build.onResolve({ filter: /^(undici|\.\/gen\/index\.js)$/ }, ({ path: name, importer }) =>
        importer.includes('/@kubernetes/client-node/dist/')
          ? { path: name === 'undici' ? 'undici' : 'gen', namespace: 'slim', sideEffects: false }
          : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'slim' }, ({ path: name }) => ({
        contents: stubs[name] ?? '',
        loader: 'js',
      }));
    },
  };
}
