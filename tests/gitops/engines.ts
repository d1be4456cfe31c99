import path from 'node:path';
import { parse } from 'yaml';
import { hasGo } from '../../scripts/testbed/build-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { blocksOf, readPages } from '../support/markdown.ts';

/** The reason to skip a test that runs the engines, or false if this machine can build them. */
export const skipWithoutGo = (await hasGo()) ? false : 'it needs Go';

/** Builds the engines of other GitOps tools, and runs one of them on JSON; Go's own cache makes the next build quick. */
export async function buildEngines(): Promise<{
  run: <Result>(engine: 'health' | 'trigger' | 'kstatus', input: unknown) => Promise<Result>;
  remove: () => Promise<void>;
}> {
  const directory = await makeTemporaryDirectory('engines-');
  const file = path.join(directory.path, 'engines');
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  await runCommand('go', ['build', '-o', file, '.'], { cwd: path.join(import.meta.dirname, 'engines'), env });
  return {
    run: async (engine, input) => JSON.parse(await runCommand(file, [engine], { input: JSON.stringify(input) })),
    remove: () => directory.remove(),
  };
}

/** The value of a key in the data of the ConfigMap that a page shows. Throws an error if the page has no such key. */
export async function configMapValue(file: string, key: string): Promise<string> {
  const page = (await readPages()).find((each) => each.file === file);
  if (!page) throw new Error(`there is no page ${file}`);
  for (const { language, code } of blocksOf(page)) {
    const value = language === 'yaml' ? parse(code)?.data?.[key] : undefined;
    if (typeof value === 'string') return value;
  }
  throw new Error(`${file} has no ConfigMap with ${key}`);
}
