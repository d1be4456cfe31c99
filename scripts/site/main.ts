/**
 * Serves or builds the documentation site. Its packages are installed in `site/`, not with the packages of the product.
 *   npm run docs                    serve the pages of the checkout, and reload them when they change
 *   npm run docs -- build           build them into site/.vitepress/dist; dead links and wrong types are errors
 *   npm run docs -- pack DIR        build them as a release, and pack them into a directory as a file of this release
 *   npm run docs -- versions DIR    download the site of every release, and build the checkout as `next`
 */
import { buildSite, serveSite } from './run-vitepress.ts';
import { assembleSite, packSite } from './versions.ts';

const [command, ...options] = process.argv.slice(2);
if (command === undefined || command.startsWith('-')) serveSite(process.argv.slice(2));
else if (command === 'build') await buildSite(options);
else if (command === 'pack' && options[0]) await packSite(options[0]);
else if (command === 'versions' && options[0]) await assembleSite(options[0]);
else {
  console.error(`${command}: use npm run docs, or npm run docs -- build, pack DIR, or versions DIR`);
  process.exitCode = 2;
}
