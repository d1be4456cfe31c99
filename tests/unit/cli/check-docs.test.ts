import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { git } from '../../../scripts/testbed/git-command.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const page = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/check-files.md'), 'utf8');
const [gatewaySync = '', github = '', gitlab = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text);

/** The shell commands of both examples, with the variables of one gateway. */
const commands = [
  ...parse(github).jobs.gateway.steps.flatMap(({ run = [] }) => run),
  ...Object.values(parse(gitlab) as Record<string, { script: string[] }>).flatMap(({ script }) => script),
].map((line: string) => line.replace(/\$\{\{ matrix\.gateway \}\}/, 'edge').replaceAll('$GATEWAY', 'edge'));

/** Makes a checkout with the files that the examples assume. */
async function makeCheckout(t: TestContext): Promise<string> {
  const root = await temporaryDirectory(t, 'check-docs-');
  await git(root, ['init', '-q']);
  const files = {
    'gatewaysync.yaml': gatewaySync,
    'nginx/nginx.conf': 'pid /tmp/nginx-{{ .GatewayName }}.pid;\nevents {}\nhttp { server { listen 8080; } }\n',
    'prometheus/prometheus.yml': 'global: {scrape_interval: 15s}\n',
  };
  for (const [file, content] of Object.entries(files)) {
    await runCommand('mkdir', ['-p', path.dirname(path.join(root, file))]);
    await writeFile(path.join(root, file), content);
  }
  await git(root, ['add', '.']);
  await git(root, ['commit', '-q', '-m', 'x']);
  return root;
}

/** Runs a command of the page in the checkout. */
async function runIn(root: string, command: string) {
  const words = command.split(' ').slice(1);
  const local = (word: string) => (/^(\.|gatewaysync\.yaml|tree.*)$/.test(word) ? path.join(root, word) : word);
  return await runCli(words.map(local));
}

suite('docs/how-to/check-files.md', () => {
  test('has commands that write what the next steps check', async (t) => {
    const root = await makeCheckout(t);
    const checks = commands.filter((command) => command.startsWith('kubectl-stoker '));
    assert.equal(checks.length, 2);
    for (const command of checks.toReversed()) {
      const { status, notes } = await runIn(root, command.replace('--output tree ', '--output tree-of-github '));
      assert.equal(status, 0, notes);
    }
    assert.match(await readFile(path.join(root, 'tree/edge/nginx/nginx.conf'), 'utf8'), /nginx-edge\.pid/);
    const used = (tree: RegExp) => commands.flatMap((command) => tree.exec(command)?.[1] ?? []);
    const files = ['nginx/nginx.conf', 'prometheus/prometheus.yml'];
    assert.deepEqual(used(/ \/tree\/(\S+)/), files);
    assert.deepEqual(used(/\$gateway\/([^"]+)/), files);
    for (const file of files) await readFile(path.join(root, 'tree-of-github', file));
  });

  test('shows the list of files', async (t) => {
    const [, command = '', shown] = /^\$ kubectl (stoker check .*)\n(PATH[^`]*)/m.exec(page) ?? [];
    const { output, notes } = await runIn(await makeCheckout(t), command);
    assert.ok(output.startsWith(shown?.split('\n')[0] ?? 'nothing'));
    for (const line of shown?.trim().split('\n') ?? []) assert.ok(`${output}${notes}`.includes(line), line);
  });
});
