import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { documented, makeCheckout, page } from '../../support/documented-checks.ts';
import { runCli } from '../../support/run-cli.ts';

/** The commands of both examples, with the variables of one gateway. */
const commands = [...documented.github, ...documented.gitlab].map((line) =>
  line.replace(/\$\{\{ matrix\.gateway \}\}/, 'edge').replaceAll('$GATEWAY', 'edge'),
);

const assumed = {
  'nginx/nginx.conf': 'pid /tmp/nginx-{{ .GatewayName }}.pid;\nevents {}\nhttp { server { listen 8080; } }\n',
  'prometheus/prometheus.yml': 'global: {scrape_interval: 15s}\n',
};

/** Runs a command of the page in the checkout. */
async function runIn(root: string, command: string) {
  const words = command.split(' ').slice(1);
  const local = (word: string) => (/^(\.|gatewaysync\.yaml|tree.*)$/.test(word) ? path.join(root, word) : word);
  return await runCli(words.map(local));
}

suite('docs/how-to/check-files.md', () => {
  test('has commands that write what the next steps check', async (t) => {
    const root = await makeCheckout(t, assumed);
    const checks = commands.filter((command) => command.startsWith('./kubectl-stoker '));
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
    const { output, notes } = await runIn(await makeCheckout(t, assumed), command);
    assert.ok(output.startsWith(shown?.split('\n')[0] ?? 'nothing'));
    for (const line of shown?.trim().split('\n') ?? []) assert.ok(`${output}${notes}`.includes(line), line);
  });
});
