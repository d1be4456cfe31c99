import { registerHooks } from 'node:module';
import { slimImport } from '../images/slim-dependencies.ts';

/** `KubeConfig` without the rest of client-node, which would take 0.4 s of CPU time in each test process. */
const config = import.meta.resolve('../../node_modules/@kubernetes/client-node/dist/config.js');
const noClasses = 'export function createConfiguration() {} export class ServerConfiguration {}';

function codeFor(specifier: string, importer: string): string | undefined {
  if (specifier === './gen/index.js' && importer === config) return noClasses;
  return slimImport(specifier, importer);
}

// Tests load the same parts of dependencies as the bundles.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@kubernetes/client-node') return next(config, context);
    const isRequired = context.conditions.includes('require');
    const code = isRequired ? undefined : codeFor(specifier, context.parentURL ?? '');
    if (code === undefined) return next(specifier, context);
    return { url: `data:text/javascript,${encodeURIComponent(code)}`, format: 'module', shortCircuit: true };
  },
});
