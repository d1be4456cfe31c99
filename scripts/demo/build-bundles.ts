import path from 'node:path';
import { runCommand } from '../testbed/run-command.ts';
import { step } from '../testbed/step.ts';

const root = path.join(import.meta.dirname, '../..');

/** Environment variable: the checkout with bundles that are up to date, for child processes. Users don't set it. */
const MADE = 'BUNDLES_MADE_IN';

/**
 * Bundles the programs into dist/: all of them, or only the named directories. A command that has bundled all of them,
 * such as `npm test`, starts others that would bundle them again; those use the existing bundles.
 */
export async function buildBundles(...directories: string[]): Promise<void> {
  if (process.env[MADE] === root) return;
  await step('Bundling the programs', () =>
    runCommand(process.execPath, [path.join(root, 'scripts/build.ts'), ...directories], { cwd: root }),
  );
  if (directories.length === 0) process.env[MADE] = root;
}
