import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { slimImport } from '../images/slim-dependencies.ts';

// Tests get of dependencies what the bundles have: to load all of client-node takes 0.4 s of processor time in each of
// the processes that run test files.
registerHooks({
  resolve(specifier, context, next) {
    const isRequired = context.conditions.includes('require');
    const slim = isRequired ? undefined : slimImport(specifier, context.parentURL ?? '');
    if (!slim) return next(specifier, context);
    if ('path' in slim) return next(pathToFileURL(slim.path).href, context);
    return { url: `data:text/javascript,${encodeURIComponent(slim.contents)}`, format: 'module', shortCircuit: true };
  },
});
