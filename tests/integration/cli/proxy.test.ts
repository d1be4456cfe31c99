import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { openPort } from '../../support/open-port.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { untilPermitted } from '../../support/until-permitted.ts';

const run = promisify(execFile);

/** A name in the API server's certificate that can't be resolved. */
const NAME = 'kubernetes.default.svc';

/** A proxy that connects to the API server for any host, if the password is correct. */
async function startProxy(t: TestContext, port: number) {
  const asked: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, client: Socket, head) => {
    client.on('error', () => client.destroy());
    asked.push(request.url ?? '');
    if (request.headers['proxy-authorization'] !== `Basic ${btoa('me:pass')}`) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  const own = await openPort(t, proxy);
  return { asked, url: `http://me:pass@127.0.0.1:${own}`, wrong: `http://me:hunter2@127.0.0.1:${own}` };
}

async function arrange(t: TestContext) {
  const [cluster, namespace] = await Promise.all([connectCluster(), createNamespace(t)]);
  await applyGatewaySync({ namespace, name: 'plant' }, { repo: 'https://git.example/x' });
  const { port } = new URL(cluster.url);
  const proxy = await startProxy(t, Number(port));
  const directory = await temporaryDirectory(t, 'proxy-');
  await cluster.kubectl(
    ...['create', 'rolebinding', 'view', '-n', namespace, '--clusterrole=cluster-admin'],
    `--serviceaccount=${namespace}:default`,
  );
  const account = await cluster.kubeconfigFor({ namespace, serviceAccount: 'default' });
  await untilPermitted(account, gatewaySyncPath(namespace));
  /** A kubeconfig with this name as the server. */
  const kubeconfigWith = async (more: object): Promise<string> => {
    const config = JSON.parse(await readFile(account, 'utf8'));
    Object.assign(config.clusters[0].cluster, { server: `https://${NAME}:${port}`, ...more });
    const file = path.join(directory, 'kubeconfig');
    await writeFile(file, JSON.stringify(config));
    return file;
  };
  /** Outputs of kubectl and the plugin, and their requests to the proxy. */
  const both = async (kubeconfig: string, environment: Record<string, string>) => {
    const options = { env: { HOME: directory, KUBECONFIG: kubeconfig, ...environment } };
    const line = ['get', 'gsync', '-n', namespace, '--request-timeout=30s'];
    const kubectl = await run(cluster.binaries.kubectl, line, options).then(
      () => 0,
      () => 1,
    );
    const kubectlAsked = asks();
    const plugin = await runCli(['status', '-n', namespace, '--kubeconfig', kubeconfig], { environment });
    return { kubectl, kubectlAsked, plugin, pluginAsked: asks() };
  };
  const asks = (): string[] => [...new Set(proxy.asked.splice(0))];
  return { proxy, both, kubeconfigWith, host: `${NAME}:${port}` };
}

suite('a proxy for kubectl stoker', () => {
  test('from the environment is used for the API server, as by kubectl', async (t) => {
    const { proxy, both, kubeconfigWith, host } = await arrange(t);
    const kubeconfig = await kubeconfigWith({});
    const through = await both(kubeconfig, { HTTPS_PROXY: proxy.url });
    assert.deepEqual([through.kubectl, through.kubectlAsked], [0, [host]]);
    assert.deepEqual([through.plugin.status, through.pluginAsked], [1, [host]]);
    assert.match(through.plugin.output, /plant +main +0\/0 +not reconciled yet/);

    const past = await both(kubeconfig, { HTTPS_PROXY: proxy.url, NO_PROXY: '.default.svc' });
    assert.deepEqual([past.kubectl, past.kubectlAsked], [1, []]);
    assert.deepEqual([past.plugin.status, past.pluginAsked], [3, []]);
  });

  test('from the kubeconfig is used for every server, and takes precedence', async (t) => {
    const { proxy, both, kubeconfigWith, host } = await arrange(t);
    const environment = { HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '*' };
    const kubeconfig = await kubeconfigWith({ 'proxy-url': proxy.url });
    const { kubectl, kubectlAsked, plugin, pluginAsked } = await both(kubeconfig, environment);
    assert.deepEqual([kubectl, kubectlAsked], [0, [host]]);
    assert.deepEqual([plugin.status, pluginAsked], [1, [host]], plugin.notes);
  });

  test('that refuses or is missing is named without its password', async (t) => {
    const { proxy, both, kubeconfigWith } = await arrange(t);
    const kubeconfig = await kubeconfigWith({});
    const refused = (await both(kubeconfig, { HTTPS_PROXY: proxy.wrong })).plugin;
    assert.equal(refused.status, 3);
    assert.match(refused.notes, /through the proxy http:\/\/127\.0\.0\.1:\d+ .*: HTTP\/1\.1 407 Proxy Auth.*\n$/);
    const gone = (await both(kubeconfig, { HTTPS_PROXY: 'http://me:hunter2@127.0.0.1:1' })).plugin;
    assert.match(gone.notes, /through the proxy http:\/\/127\.0\.0\.1:1 .*: nothing listens \(ECONNREFUSED\)\n$/);
    for (const { notes, output } of [refused, gone]) assert.ok(!`${notes}${output}`.includes('hunter2'), notes);
  });
});
