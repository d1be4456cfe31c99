import path from 'node:path';
import { runCommand } from '../testbed/run-command.ts';
import { step } from '../testbed/step.ts';

const root = path.join(import.meta.dirname, '../..');

/** Environment variable: the checkout whose bundles are all made, for what this process starts. No person sets it. */
const MADE = 'BUNDLES_MADE_IN';

/**
 * Bundles the programs into dist/: all of them, or those whose folders are named. A command that has made all of them,
 * such as `npm test`, starts others that would make them again; those take what is there.
 */
export async function buildBundles(...folders: string[]): Promise<void> {
  if (process.env[MADE] === root) return;
  await step('Bundling the programs', () =>
    runCommand(process.execPath, [path.join(root, 'scripts/build.ts'), ...folders], { cwd: root }),
  );
  if (folders.length === 0) process.env[MADE] = root;
}
