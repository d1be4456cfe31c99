import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import { git } from '../../scripts/testbed/git-command.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Text of the how-to guide with the examples for CI. */
export const page = await readFile(path.join(import.meta.dirname, '../../docs/how-to/check-files.md'), 'utf8');
const [gatewaySync = '', github = '', gitlab = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text);

/** The shell commands of each example, in the order in which they run. */
export const documented = {
  github: parse(github).jobs.gateway.steps.flatMap(({ run = [] }) => run) as string[],
  gitlab: Object.values(parse(gitlab) as Record<string, { script: string[] }>).flatMap(({ script }) => script),
};

/** Makes a checkout with the GatewaySync of the examples and these files. */
export async function makeCheckout(t: TestContext, files: Record<string, string>): Promise<string> {
  const root = await temporaryDirectory(t, 'check-docs-');
  await git(root, ['init', '-q']);
  for (const [file, content] of Object.entries({ 'gatewaysync.yaml': gatewaySync, ...files })) {
    await runCommand('mkdir', ['-p', path.dirname(path.join(root, file))]);
    await writeFile(path.join(root, file), content);
  }
  await git(root, ['add', '.']);
  await git(root, ['commit', '-q', '-m', 'x']);
  return root;
}
