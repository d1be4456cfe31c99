import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { connect } from '../../../cli/client/connect.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Content {
  current?: string;
  /** Servers by cluster name. */
  clusters?: Record<string, string>;
  contexts?: Record<string, { cluster: string; user: string; namespace?: string }>;
  users?: readonly string[];
}

const fileOf = ({ current, clusters = {}, contexts = {}, users = [] }: Content) => ({
  apiVersion: 'v1',
  kind: 'Config',
  ...(current !== undefined && { 'current-context': current }),
  clusters: Object.entries(clusters).map(([name, server]) => ({ name, cluster: { server } })),
  contexts: Object.entries(contexts).map(([name, context]) => ({ name, context })),
  users: users.map((name) => ({ name, user: { token: name } })),
});

const complete = (name: string, server = `https://${name}.example`): Content => ({
  current: name,
  clusters: { [name]: server },
  contexts: { [name]: { cluster: name, user: name, namespace: `ns-${name}` } },
  users: [name],
});

/** Servers of kubectl and of the plugin; undefined for an error. */
async function bothWith(t: TestContext, list: string, home: string) {
  const { binaries } = await connectCluster();
  const options = { env: { KUBECONFIG: list, HOME: home, PATH: process.env.PATH } };
  const view = ['config', 'view', '--minify', '--raw', '-o', 'json'];
  const viewed = await runCommand(binaries.kubectl, view, options).then(
    (stdout) => JSON.parse(stdout),
    () => undefined,
  );
  const kubectl = viewed && {
    context: viewed['current-context'],
    server: viewed.clusters[0].cluster.server,
    namespace: viewed.contexts[0].context.namespace ?? 'default',
  };
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  Object.assign(process.env, { KUBECONFIG: '', HOME: home });
  return { kubectl, plugin: whereTo(list) };
}

function whereTo(kubeconfigs: string) {
  try {
    const { context, server, namespace } = connect({}, { kubeconfigs });
    return { context, server, namespace };
  } catch {
    return undefined;
  }
}

suite('the kubeconfig of kubectl stoker', () => {
  const rows: [what: string, files: (Content | 'missing')[], context: string | undefined][] = [
    ['has the current context of the first file', [complete('staging'), complete('prod')], 'staging'],
    ['has the current context of the first file that has one', [{}, { current: '' }, complete('prod')], 'prod'],
    ['may be missing in part', ['missing', complete('staging'), 'missing', complete('prod')], 'staging'],
    [
      'has of clusters, users and contexts of the same name those of the first file',
      [complete('same', 'https://first.example'), complete('same', 'https://second.example')],
      'same',
    ],
    [
      'takes a context of one file with a cluster and a user of another',
      [
        { current: 'x', contexts: { x: { cluster: 'y', user: 'y' } } },
        { clusters: { y: 'https://y.example' }, users: ['y'] },
      ],
      'x',
    ],
    [
      'leads nowhere where the user of the context is missing',
      [{ current: 'x', contexts: { x: { cluster: 'y', user: 'z' } }, clusters: { y: 'https://y.example' } }],
      undefined,
    ],
  ];
  for (const [what, files, context] of rows) {
    test(`${what}, as kubectl does`, async (t) => {
      const directory = await temporaryDirectory(t, 'kubeconfig-');
      const names = files.map((_, index) => path.join(directory, `${index}`));
      for (const [index, file] of files.entries()) {
        if (file === 'missing') continue;
        await writeFile(names[index] ?? '', JSON.stringify(fileOf(file)));
      }
      const { kubectl, plugin } = await bothWith(t, names.join(path.delimiter), directory);
      assert.equal(plugin?.context, context);
      assert.deepEqual(plugin, kubectl);
    });
  }

  test('is in the home directory without KUBECONFIG', async (t) => {
    const directory = await temporaryDirectory(t, 'kubeconfig-');
    await mkdir(path.join(directory, '.kube'));
    await writeFile(path.join(directory, '.kube/config'), JSON.stringify(fileOf(complete('home'))));
    const { kubectl, plugin } = await bothWith(t, '', directory);
    assert.equal(plugin?.context, 'home');
    assert.deepEqual(plugin, kubectl);
  });
});

test('kubectl stoker accepts a kubeconfig for kubectl proxy, over plain http', async (t) => {
  const [{ kubeconfig, binaries }, namespace] = await Promise.all([connectCluster(), createNamespace(t)]);
  await applyGatewaySync({ namespace, name: 'plant' }, { repo: 'https://git.example/x' });
  const proxy = spawn(binaries.kubectl, ['proxy', '--port=0', '--kubeconfig', kubeconfig], { stdio: 'pipe' });
  t.after(() => proxy.kill());
  const [line] = (await once(proxy.stdout, 'data')) as [Buffer];
  const [, address] = /(127\.0\.0\.1:\d+)/.exec(String(line)) ?? [];
  const directory = await temporaryDirectory(t, 'kubeconfig-');
  const file = path.join(directory, 'config');
  const content = { ...fileOf(complete('proxy', `http://${address}`)), users: [{ name: 'proxy', user: {} }] };
  await writeFile(file, JSON.stringify(content));

  const { output, notes } = await runCli(['status', 'plant', '-n', namespace, '--kubeconfig', file]);

  assert.match(output, /plant/, notes);
});

for (const apiVersion of ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'])
  test(`a credential plugin of ${apiVersion} gets the same from kubectl stoker as from kubectl`, async (t) => {
    const { kubeconfig, binaries } = await connectCluster();
    const config = parse(await readFile(kubeconfig, 'utf8'));
    const directory = await temporaryDirectory(t, 'kubeconfig-');
    const extension = { audience: 'plant', nested: { list: [1, null, 'x'] } };
    const [{ cluster }] = config.clusters;
    cluster.extensions = [{ name: 'client.authentication.k8s.io/exec', extension }];
    cluster['disable-compression'] = true;
    const value = JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token: 'x' } });
    const program = { command: './login', args: ['a b'], env: [{ name: 'ANSWER', value }] };
    const exec = { apiVersion, ...program, provideClusterInfo: true, interactiveMode: 'Never' };
    config.users[0].user = { exec };
    const script = '#!/bin/sh\necho "$1 $KUBERNETES_EXEC_INFO" >> "$(dirname "$0")/infos"\necho "$ANSWER"\n';
    await writeFile(path.join(directory, 'login'), script, { mode: 0o700 });
    const file = path.join(directory, 'config');
    await writeFile(file, JSON.stringify(config));

    await runCommand(binaries.kubectl, ['get', 'pods', '--kubeconfig', file]).catch(() => undefined);
    const infos = async () => (await readFile(path.join(directory, 'infos'), 'utf8')).split('\n').filter(Boolean);
    const [ofKubectl = ''] = await infos();
    const { length } = await infos();
    await runCli(['status', '--kubeconfig', file], { environment: process.env });

    const ownOf = (line = '') => [line.slice(0, 4), JSON.parse(line.slice(4))];
    assert.deepEqual(ownOf((await infos())[length]), ownOf(ofKubectl));
  });

test('every query and every command names the context and the namespace', async (t) => {
  const [{ kubeconfig }, namespace] = await Promise.all([connectCluster(), createNamespace(t)]);
  await applyGatewaySync({ namespace, name: 'plant' }, { repo: 'https://git.example/x' });
  const place = `context testbed, namespace ${namespace}`;
  const access = ['-n', namespace, '--kubeconfig', kubeconfig];
  let question = '';
  const confirm = async (text: string) => {
    question = text;
    return true;
  };
  const paused = await runCli(['pause', 'plant', ...access], { confirm });
  assert.equal(paused.status, 0, paused.notes);
  assert.ok(question.includes(place), question);
  assert.ok(paused.notes.includes(`kubectl stoker resume plant -n ${namespace} --kubeconfig ${kubeconfig} ends`));
  for (const verb of ['pause', 'resume', 'sync']) {
    const { status, notes } = await runCli([verb, 'plant', '--yes', ...access]);
    assert.equal(status, 0, notes);
    assert.ok(notes.includes(place), notes);
  }
});
