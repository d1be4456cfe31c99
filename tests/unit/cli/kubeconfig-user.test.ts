import assert from 'node:assert/strict';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { connect } from '../../../cli/client/connect.ts';
import { loadKubeconfig } from '../../../cli/client/kubeconfig.ts';
import { chooseLogin } from '../../../cli/client/login.ts';
import { UserCredentials } from '../../../cli/client/user-credentials.ts';
import type { Host } from '../../../cli/terminal/host.ts';
import { slow } from '../../support/depth.ts';
import { startHttpHost } from '../../support/http-host.ts';
import { kubeconfigWith } from '../../support/kubeconfig-with.ts';
import { runCli } from '../../support/run-cli.ts';

const V1 = 'client.authentication.k8s.io/v1';

/** A server that lists nothing, with the headers of its requests, in pairs. */
async function startServer(
  t: TestContext,
  accepts: (headers: IncomingHttpHeaders) => boolean = () => true,
  delayMs = 0,
) {
  const requests: string[][] = [];
  const server = await startHttpHost(t, (request, response) => {
    requests.push(request.rawHeaders);
    response.writeHead(accepts(request.headers) ? 200 : 401, { 'Content-Type': 'application/json' });
    const end = () => response.end(JSON.stringify({ kind: 'List', items: [], metadata: { resourceVersion: '1' } }));
    setTimeout(end, delayMs);
  });
  return { server, requests };
}

const valuesOf = (headers: readonly string[] | undefined, name: string): string[] =>
  (headers ?? []).filter((_, index, all) => index % 2 === 1 && all[index - 1]?.toLowerCase() === name.toLowerCase());

const status = (file: string, flags: readonly string[] = [], host: Partial<Host> = {}) =>
  runCli(['status', '--kubeconfig', file, ...flags], { environment: { PATH: process.env.PATH }, ...host });

const sourceOf = (file: string) =>
  new UserCredentials(chooseLogin(loadKubeconfig(file, {}), {}), { hasTerminal: false, note: () => {} });

/** A credential plugin next to its kubeconfig, which records its runs and prints a new token each time. */
async function installPlugin(t: TestContext, server: string, exec: object = {}, cluster: object = {}) {
  const given = { apiVersion: V1, interactiveMode: 'Never', command: './bin/login', ...exec };
  const file = await kubeconfigWith(t, { server, ...cluster }, { exec: given });
  const directory = path.join(path.dirname(file), 'bin');
  await mkdir(directory);
  const runs = path.join(directory, 'runs');
  await writeFile(runs, '');
  const credential = JSON.stringify({ apiVersion: V1, kind: 'ExecCredential', status: { token: 'token-COUNT' } });
  const script = `echo "$KUBERNETES_EXEC_INFO" >> ${runs}\nn=$(wc -l < ${runs} | tr -d ' ')\necho '${credential}' | sed "s/COUNT/$n/"`;
  const replace = (text: string) => writeFile(path.join(directory, 'login'), `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  await replace(script);
  return {
    file,
    replace,
    infos: async () =>
      (await readFile(runs, 'utf8'))
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    script,
  };
}

suite('the user of a kubeconfig', () => {
  test('impersonates with all of its fields', async (t) => {
    const { server, requests } = await startServer(t);
    const extra = { 'example.com/Scopes%': ['a', 'b'] };
    const fields = { as: 'jürgen', 'as-uid': '42', 'as-groups': ['crew', 'night, shift'], 'as-user-extra': extra };
    await status(await kubeconfigWith(t, { server }, { token: 'x', ...fields }));
    const [headers] = requests;
    assert.deepEqual(valuesOf(headers, 'Impersonate-User'), [Buffer.from('jürgen').toString('latin1')]);
    assert.deepEqual(valuesOf(headers, 'Impersonate-Uid'), ['42']);
    assert.deepEqual(valuesOf(headers, 'Impersonate-Group'), ['crew', 'night, shift']);
    assert.deepEqual(valuesOf(headers, 'Impersonate-Extra-example.com%2FScopes%25'), ['a', 'b']);
  });

  test('is replaced by options', async (t) => {
    const { server, requests } = await startServer(t);
    const file = await kubeconfigWith(t, { server }, { token: 'x', as: 'ada', 'as-groups': ['crew'] });
    await status(file, ['--token', 'y', '--as', 'bob', '--as-group', 'one', '--as-group=two', '--as-uid', '7']);
    const [headers] = requests;
    assert.deepEqual(valuesOf(headers, 'Authorization'), ['Bearer y']);
    assert.deepEqual(valuesOf(headers, 'Impersonate-User'), ['bob']);
    assert.deepEqual(valuesOf(headers, 'Impersonate-Group'), ['one', 'two']);
    assert.deepEqual(valuesOf(headers, 'Impersonate-Uid'), ['7']);
  });

  test('and the cluster can be chosen by name, before the command too', async (t) => {
    const { server, requests } = await startServer(t);
    const file = await kubeconfigWith(t, { server: 'http://127.0.0.1:1' }, { token: 'x' });
    const config = JSON.parse(await readFile(file, 'utf8'));
    config.clusters.push({ name: 'other', cluster: { server } });
    config.users.push({ name: 'ada', user: { token: 'of-ada' } });
    await writeFile(file, JSON.stringify(config));
    await runCli(['--user', 'ada', '--cluster', 'other', 'status', '--kubeconfig', file]);
    assert.deepEqual(valuesOf(requests[0], 'Authorization'), ['Bearer of-ada']);
    assert.equal((await status(file, ['--user', 'eve'])).status, 3);
    assert.equal((await status(file, ['--cluster', 'none'])).status, 3);
  });

  test('reads its token from a file next to the kubeconfig, before any other token', async (t) => {
    const { server, requests } = await startServer(t);
    const file = await kubeconfigWith(t, { server }, { tokenFile: 'token', token: 'old' });
    await writeFile(path.join(path.dirname(file), 'token'), 'from-file\n');
    await status(file);
    assert.deepEqual(valuesOf(requests[0], 'Authorization'), ['Bearer from-file']);
  });

  test('sends no credentials over plain http to another machine', async (t) => {
    const file = await kubeconfigWith(t, { server: 'http://api.example' }, { token: 'x', as: 'ada' });
    assert.deepEqual(Object.keys((await sourceOf(file).get()).headers), ['Impersonate-User']);
  });

  test('sends no credentials over plain http through a proxy, even for a local name', async (t) => {
    for (const server of ['http://localhost:8001', 'http://127.0.0.1:8001', 'http://[::1]:8001', 'localhost:8001']) {
      const proxied = await kubeconfigWith(t, { server, 'proxy-url': 'http://proxy.example:3128' }, { token: 'x' });
      assert.deepEqual((await sourceOf(proxied).get()).headers, {}, server);
      const direct = await kubeconfigWith(t, { server }, { token: 'x' });
      assert.deepEqual(Object.keys((await sourceOf(direct).get()).headers), ['Authorization'], server);
    }
  });

  test('is sent over TLS to a server without a scheme if the kubeconfig has TLS settings', async (t) => {
    const schemeOf = async (cluster: object, user: object) => {
      const file = await kubeconfigWith(t, { server: 'api.example:6443', ...cluster }, user);
      return chooseLogin(loadKubeconfig(file, {}), {}).server.protocol;
    };
    const data = Buffer.from('x').toString('base64');
    const certificate = { 'client-certificate': 'x.crt', 'client-key': 'x.key' };
    assert.equal(await schemeOf({}, { token: 'x' }), 'http:');
    for (const cluster of [{ 'insecure-skip-tls-verify': true }, { 'certificate-authority-data': data }])
      assert.equal(await schemeOf(cluster, {}), 'https:');
    assert.equal(await schemeOf({}, certificate), 'https:');
    assert.equal(await schemeOf({ server: 'http://api.example' }, certificate), 'http:');
  });

  test('has a plugin that runs only without other credentials, as in client-go', async (t) => {
    const { server } = await startServer(t);
    const exec = { apiVersion: V1, interactiveMode: 'Never', command: './none' };
    const certificate = { 'client-certificate-data': Buffer.from('x').toString('base64'), 'client-key-data': 'eA==' };
    for (const others of [{ token: 'x' }, { username: 'x', password: 'y' }, certificate])
      await sourceOf(await kubeconfigWith(t, { server }, { exec, ...others })).get();
    await assert.rejects(sourceOf(await kubeconfigWith(t, { server }, { exec })).get(), { code: 'CREDENTIAL_PLUGIN' });
  });
});

suite('a kubeconfig that cannot be used as kubectl would is refused, with the field', () => {
  const token = { token: 'x' };
  const exec = { apiVersion: V1, command: 'login', interactiveMode: 'Never' };
  const rows: [field: string, cluster: object, user: object][] = [
    ['auth-provider', {}, { 'auth-provider': { name: 'oidc', config: {} } }],
    ['a-new-field', { 'a-new-field': true }, token],
    ['exec.a-new-field', {}, { exec: { ...exec, 'a-new-field': 'x' } }],
    ['exec.apiVersion', {}, { exec: { ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' } }],
    ['exec.interactiveMode', {}, { exec: { ...exec, interactiveMode: 'Sometimes' } }],
    ['token', {}, { token: 'x', username: 'ada', password: 'y' }],
    ['as-groups', {}, { ...token, 'as-groups': ['crew'] }],
    ['as-uid', {}, { ...token, 'as-uid': '4' }],
    ['as-user-extra', {}, { ...token, 'as-user-extra': { a: ['b'] } }],
    ['client-key', {}, { 'client-certificate-data': 'eA==' }],
    ['client-certificate', {}, { 'client-certificate-data': 'eA==', 'client-certificate': 'x', 'client-key': 'y' }],
    ['certificate-authority', { 'certificate-authority': 'x', 'certificate-authority-data': 'eA==' }, token],
    ['certificate-authority-data', { 'certificate-authority-data': '%%%' }, token],
    ['insecure-skip-tls-verify', { 'certificate-authority-data': 'eA==', 'insecure-skip-tls-verify': true }, token],
    ['server', { server: '' }, token],
    ['server', { server: 'https://' }, token],
  ];
  for (const [field, cluster, user] of rows)
    test(`${field} (${JSON.stringify({ ...cluster, ...user })})`, async (t) => {
      const file = await kubeconfigWith(t, { server: 'https://127.0.0.1:1', ...cluster }, user);
      const { status: exit, notes, output } = await status(file);
      assert.deepEqual([exit, output], [3, '']);
      assert.match(notes, new RegExp(`(^|[ "])${field}\\b(?!-)`));
    });

  test('but not if it only belongs to another user, has no effect, or is empty', async (t) => {
    const { server } = await startServer(t);
    const extensions = [{ name: 'minikube', extension: { 'last-update': 'today' } }];
    const cluster = { server, 'disable-compression': true, extensions, 'tls-server-name': null };
    const file = await kubeconfigWith(t, cluster, { extensions, username: null, 'auth-provider': null });
    const config = JSON.parse(await readFile(file, 'utf8'));
    config.users.push({ name: 'other', user: { 'auth-provider': { name: 'gcp' } } });
    await writeFile(file, JSON.stringify(config));
    assert.equal((await status(file)).status, 1);
  });
});

suite('--request-timeout', () => {
  for (const [timeout, exit] of [
    ['100ms', 3],
    ['soon', 64],
    ['0', 1],
    ['60', 1],
  ] as const)
    test(`${timeout} ends with the exit status ${exit} for a server that takes 300 ms`, slow, async (t) => {
      const { server } = await startServer(t, () => true, 300);
      const file = await kubeconfigWith(t, { server }, { token: 'x' });
      assert.equal((await status(file, ['--request-timeout', timeout])).status, exit);
    });
});

suite('a credential plugin', () => {
  test('is found next to its kubeconfig, and gets the cluster only if it asks for it', async (t) => {
    const { server, requests } = await startServer(t);
    const config = { audience: 'plant', nested: [1, { a: null }] };
    const passed = { 'tls-server-name': 'api.plant', 'disable-compression': true };
    const extensions = [
      { name: 'other', extension: 1 },
      { name: 'client.authentication.k8s.io/exec', extension: config },
    ];
    const cluster = { ...passed, 'certificate-authority': 'ca.crt', 'proxy-url': '', extensions };
    const shy = await installPlugin(t, server);
    await status(shy.file);
    assert.deepEqual(await shy.infos(), [{ kind: 'ExecCredential', apiVersion: V1, spec: { interactive: false } }]);
    const curious = await installPlugin(t, server, { provideClusterInfo: true }, cluster);
    await appendFile(path.join(path.dirname(curious.file), 'ca.crt'), 'CA');
    await status(curious.file);
    const [info] = await curious.infos();
    const authority = { 'certificate-authority-data': Buffer.from('CA').toString('base64') };
    assert.deepEqual(info.spec.cluster, { server, ...passed, ...authority, config });
    assert.deepEqual(valuesOf(requests.at(-1), 'Authorization'), ['Bearer token-1']);
  });

  test('runs again once after its credential was rejected, however many requests were', async (t) => {
    const { server } = await startServer(t, ({ authorization }) => authorization !== 'Bearer token-1');
    const { file, infos } = await installPlugin(t, server);
    const { client } = connect({ kubeconfig: file }, { environment: { PATH: process.env.PATH } });
    await Promise.all(Array.from({ length: 8 }, () => client.getAs('/version')));
    await client.getAs('/version');
    assert.equal((await infos()).length, 2);
  });

  test('runs again after its credential has expired', async (t) => {
    const { server, requests } = await startServer(t);
    const { file, script, replace, infos } = await installPlugin(t, server);
    const { client } = connect({ kubeconfig: file }, { environment: { PATH: process.env.PATH } });
    await replace(script.replace('"status":{', `"status":{"expirationTimestamp":"2020-01-01T00:00:00Z",`));
    await client.getAs('/version');
    await client.getAs('/version');
    assert.equal((await infos()).length, 2);
    assert.deepEqual(valuesOf(requests.at(-1), 'Authorization'), ['Bearer token-2']);
  });

  test('can print a client certificate instead of a token', async (t) => {
    const { file, replace } = await installPlugin(t, 'https://127.0.0.1:1');
    const status = { clientCertificateData: 'CERTIFICATE', clientKeyData: 'KEY' };
    await replace(`echo '${JSON.stringify({ apiVersion: V1, kind: 'ExecCredential', status })}'`);
    const { headers, tls } = await sourceOf(file).get();
    assert.deepEqual([headers, tls], [{}, { cert: 'CERTIFICATE', key: 'KEY' }]);
  });

  test('that is missing is reported with its installHint', async (t) => {
    const { server } = await startServer(t);
    const hint = 'Install it:\n  brew install login\u001b[1m';
    const { file } = await installPlugin(t, server, { command: 'no-such-login', installHint: hint });
    const { status: exit, notes } = await status(file);
    assert.equal(exit, 3);
    assert.match(notes, /no-such-login.*Install it: brew install login/);
    assert.ok(!notes.includes('\u001b'));
  });

  for (const [interactiveMode, isTerminal, interactive] of [
    ['Always', true, true],
    ['Always', false, undefined],
    ['IfAvailable', true, true],
    ['IfAvailable', false, false],
    ['Never', true, false],
  ] as const)
    test(`${interactive === undefined ? 'is not started' : `is ${interactive ? '' : 'not '}interactive`} with ${interactiveMode} ${isTerminal ? 'on' : 'without'} a terminal`, async (t) => {
      const { server } = await startServer(t);
      const { file, infos } = await installPlugin(t, server, { interactiveMode });
      const ended = await status(file, [], isTerminal ? { confirm: async () => true } : {});
      assert.equal(ended.status === 3, interactive === undefined);
      assert.equal((await infos())[0]?.spec.interactive, interactive);
    });

  const credential = { apiVersion: V1, kind: 'ExecCredential', status: { token: 'x' } };
  const answers: Record<string, unknown> = {
    'no JSON': 'Logged in.',
    'another version': { ...credential, apiVersion: 'client.authentication.k8s.io/v1beta1' },
    'no status': { ...credential, status: undefined },
    'an empty status': { ...credential, status: {} },
    'a certificate without a key': { ...credential, status: { clientCertificateData: 'x' } },
    'a token that cannot be sent': { ...credential, status: { token: 'x\ny' } },
  };
  for (const [what, answer] of Object.entries(answers))
    test(`that prints ${what} fails, and the output is not shown`, async (t) => {
      const { server, requests } = await startServer(t);
      const { file, replace } = await installPlugin(t, server);
      await replace(`cat <<'END'\n${typeof answer === 'string' ? answer : JSON.stringify(answer)}\nEND`);
      const { status: exit, notes } = await status(file);
      assert.equal(exit, 3);
      assert.match(notes, /credential plugin/);
      assert.ok(!notes.includes('Logged in.'));
      assert.deepEqual(requests, []);
    });

  test('that fails is reported with its messages, which appear while it runs', async (t) => {
    const { server } = await startServer(t);
    const { file, replace } = await installPlugin(t, server);
    await replace('echo "open https://login" >&2; exit 4');
    const { status: exit, notes } = await status(file);
    assert.equal(exit, 3);
    assert.match(notes, /^open https:\/\/login\nerror: .*open https:\/\/login$/m);
  });
});
