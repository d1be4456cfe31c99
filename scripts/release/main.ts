/**
 * Makes the files of a release in a directory. It publishes nothing; .github/workflows/release.yaml does.
 *   npm run release -- DIRECTORY                add the other files to those that the workflow has made
 *   npm run release -- --dry-run [DIRECTORY]    make all files that this machine can make, by default in dist/release
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dryRun } from './dry-run.ts';
import { completeRelease, missingFiles } from './release-files.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { 'dry-run': { type: 'boolean' } } });
const [directory] = positionals;
const missing = directory && !values['dry-run'] ? await missingFiles(directory) : [];
if (values['dry-run']) await dryRun(path.resolve(directory ?? path.join(import.meta.dirname, '../../dist/release')));
else if (!directory) fail('specify the directory with the files of the workflow, or --dry-run');
else if (missing.length > 0) fail(`${directory} lacks ${missing.join(', ')}; another job of the workflow makes them`);
else await completeRelease(path.resolve(directory));

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
