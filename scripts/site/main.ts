/**
 * Serves or builds the documentation site. Its packages are installed in `site/`, not with the packages of the product.
 *   npm run docs                    serve the pages of the checkout, and reload them when they change
 *   npm run docs -- build           build them into site/.vitepress/dist; dead links and wrong types are errors
 *   npm run docs -- versions DIR    build every release from its tag, and the checkout as `next`, into a directory
 */
import { buildSite, serveSite } from './run-vitepress.ts';
import { buildVersions } from './versions.ts';

const [command, ...options] = process.argv.slice(2);
if (command === undefined || command.startsWith('-')) serveSite(process.argv.slice(2));
else if (command === 'build') await buildSite(options);
else if (command === 'versions' && options[0]) await buildVersions(options[0]);
else {
  console.error(`${command}: use npm run docs, npm run docs -- build, or npm run docs -- versions DIR`);
  process.exitCode = 2;
}
