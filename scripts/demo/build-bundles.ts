import path from 'node:path';
import { runCommand } from '../testbed/run-command.ts';
import { step } from '../testbed/step.ts';

const root = path.join(import.meta.dirname, '../..');

/** Bundles the programs into dist/: all of them, or those whose folders are named. */
export async function buildBundles(...folders: string[]): Promise<void> {
  await step('Bundling the programs', () =>
    runCommand(process.execPath, [path.join(root, 'scripts/build.ts'), ...folders], { cwd: root }),
  );
}
