import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { createGatewayPod } from '../integration/agent/support/gateway-pod.ts';
import { makeKnown } from '../integration/cli/inspected-gateway.ts';
import { shareGitServer } from '../support/git-server-for.ts';
import { blocksOf } from '../support/markdown.ts';
import { stokerIn } from '../support/stoker-in.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { readRecipe } from './recipe.ts';
import { commandOf } from './servers.ts';

const git = await shareGitServer();
const file = path.join(import.meta.dirname, '../../docs/how-to/capture-edits.md');
const blocks = blocksOf({ file, text: await readFile(file, 'utf8') });
const { spec } = parse(blocks.find(({ language }) => language === 'yaml')?.code ?? '');
const commands = blocks.flatMap(({ language, code }) =>
  language === 'console' ? [...code.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command) : [],
);

const recipe = await readRecipe('node-red');
const [container] = recipe.template.spec.containers;
const command = await commandOf(container ?? assert.fail()).catch(() => undefined);

/** Files with an editor, whose secret for credentials is known. */
const FILES = {
  'node-red/flows.json': `${JSON.stringify([{ id: 'site', type: 'tab', label: 'Site' }], undefined, 2)}\n`,
  'node-red/settings.js': "module.exports = { flowFile: 'flows.json', credentialSecret: 'known' };\n",
};

async function startNodeRed(t: TestContext, data: string) {
  const port = await freePort();
  const [node = '', program = ''] = command ?? [];
  const argv = [program, `--userDir=${data}`, `--port=${port}`];
  const server = startGuarded(node, argv, { output: { log: path.join(data, '../node-red.log') } });
  t.after(() => server.stop());
  const flows = `http://127.0.0.1:${port}/flows`;
  await until(() => fetch(flows), { describe: 'Node-RED', accept: ({ ok }) => ok });
  return async (nodes: object[]) => {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(flows, { method: 'POST', headers, body: JSON.stringify(nodes) });
    assert.equal(response.status, 204);
  };
}

test('the documented way of an edit in Node-RED into git changes no byte on the gateway', {
  skip: command === undefined && 'Node-RED is not installed',
}, async (t) => {
  const repository = await git.createRepository('capture-node-red');
  const first = await repository.commit({ files: FILES });
  const pod = await createGatewayPod(t);
  // The next check, after which the report no longer shows the edit, comes sooner.
  await pod.setSpec(repository.url, { sync: { ...spec.sync, defaults: { syncPeriod: 5 } } });
  await pod.settle(first);
  await pod.start();
  await pod.untilSynced(first);
  await makeKnown(pod);
  const clone = path.join(await temporaryDirectory(t, 'clone-'), 'clone');
  await runCommand('git', ['clone', '--quiet', repository.path, clone]);
  for (const [key, value] of [
    ['user.name', 'Ann'],
    ['user.email', 'ann@example.com'],
  ] as const)
    await runCommand('git', ['-C', clone, 'config', key, value]);

  const deploy = await startNodeRed(t, pod.data);
  await deploy([
    { id: 'site', type: 'tab', label: 'Site of Ann' },
    { id: 'in', type: 'http in', z: 'site', url: '/hello', method: 'get', x: 120, y: 60, wires: [['text']] },
    { id: 'text', type: 'mqtt-broker', z: 'site', name: 'b', broker: 'x', credentials: { user: 'ann', password: 'p' } },
  ]);
  const delivered = ['flows.json', 'settings.js', 'flows_cred.json'].map((name) => path.join(pod.data, name));
  await until(() => readFile(delivered[0] ?? '', 'utf8'), {
    describe: 'the edit on the disk',
    accept: (text) => text.includes('Site of Ann'),
  });
  await pod.untilReport('the edit in the report', ({ status }) => /flows\.json/.test(JSON.stringify(status)));
  const stateOf = (name: string) =>
    Promise.all([
      readFile(name, 'hex').catch(() => ''),
      stat(name).then(
        ({ ino }) => ino,
        () => 0,
      ),
    ]);
  const before = await Promise.all(delivered.map(stateOf));

  const names = new Map([
    ['node-red', 'gw'],
    ['node-red-0', 'gateway-0'],
  ]);
  const stoker = await stokerIn(pod.namespace);
  for (const line of commands) {
    const [program, ...words] = line.replaceAll("'", '').split(' ');
    if (program === 'git') await runCommand('git', ['-C', clone, ...words]);
    else {
      const [, name = '', ...args] = words.filter((word) => word !== '--namespace' && word !== 'gateways');
      const own = args.map((word) => names.get(word) ?? word);
      const result = await stoker([name, ...own, '--directory', clone], { environment: process.env });
      assert.equal(result.status, 0, result.notes);
    }
  }
  await runCommand('git', ['-C', clone, 'push', '--quiet', 'origin', 'HEAD:main']);
  const merged = (await runCommand('git', ['-C', clone, 'rev-parse', 'HEAD'])).trim();
  assert.notEqual(merged, first);
  await pod.settle(merged);
  await pod.untilSynced(merged);
  assert.deepEqual(await Promise.all(delivered.map(stateOf)), before);
  await pod.untilReport('that nothing differs from git', ({ status }) => (status?.changes ?? []).length === 0);
});
