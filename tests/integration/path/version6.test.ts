import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { makeAuthority, makeServingCertificate } from '../../../controller/certificates/make-certificate.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { startFakeIgnition } from '../../support/fake-ignition.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { type ProgramOptions, startProgram } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { makeVersion6Network, type Version6Network } from '../../support/version6-network.ts';
import { createGatewayPod } from '../agent/support/gateway-pod.ts';

const cluster = await connectCluster();
const apiPort = Number(new URL(cluster.url).port);
const apiUrl = `https://[::1]:${apiPort}`;
const ofVersion6 = (url: string) => url.replace('127.0.0.1', '[::1]');

/** The environment of a receiver and its ports, in the order delivery, probes, metrics. */
async function receiverWith(KUBECONFIG: string) {
  const ports = [await freePort(), await freePort(), await freePort()] as const;
  const [RECEIVER_PORT, HEALTH_PORT, METRICS_PORT] = ports.map(String) as [string, string, string];
  return { ports, env: { KUBECONFIG, RECEIVER_PORT, HEALTH_PORT, METRICS_PORT } };
}

/** The same for a controller: admission, probes, metrics. */
async function controllerWith(t: TestContext, KUBECONFIG: string, namespace: string) {
  const directory = await temporaryDirectory(t, 'certificate-');
  const { certificate, privateKey } = makeServingCertificate(makeAuthority(Date.now()), ['localhost'], Date.now());
  await writeFile(path.join(directory, 'tls.crt'), certificate);
  await writeFile(path.join(directory, 'tls.key'), privateKey);
  const ports = [await freePort(), await freePort(), await freePort()] as const;
  const [WEBHOOK_PORT, HEALTH_PORT, METRICS_PORT] = ports.map(String) as [string, string, string];
  const env = {
    KUBECONFIG,
    TMPDIR: directory,
    WEBHOOK_PORT,
    HEALTH_PORT,
    METRICS_PORT,
    WEBHOOK_CERT_DIR: directory,
    DEFAULT_AGENT_IMAGE: 'registry.test/agent:1',
    POD_NAME: 'controller-0',
    POD_NAMESPACE: namespace,
    WATCH_NAMESPACES: namespace,
    LEADER_ELECTION: 'false',
  };
  return { ports, env };
}

async function version6Kubeconfig(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t, 'kubeconfig-');
  const file = path.join(directory, 'kubeconfig');
  await writeFile(file, (await readFile(cluster.kubeconfig, 'utf8')).replaceAll(cluster.url, apiUrl));
  return file;
}

async function enterNetwork(t: TestContext, ...ports: number[]): Promise<Version6Network | undefined> {
  const network = await makeVersion6Network(t, [apiPort, ...ports]);
  if (!network) t.skip('this machine does not allow network namespaces');
  return network;
}

suite('without IPv4', { concurrency: 3 }, () => {
  test('the receiver answers deliveries, probes and scrapes', async (t) => {
    const network = await enterNetwork(t);
    if (!network) return;
    const { ports, env } = await receiverWith(await version6Kubeconfig(t));
    const program = startProgram(t, 'dist/receiver.mjs', { env, within: network.within });
    await program.waitForLog(/"msg":"listening"/);
    // A response that takes longer than the receiver waits for it has nothing to do with the address.
    assert.doesNotMatch(program.output, /^(?!.*no complete response within).*API server unreachable at startup/m);
    const [delivery, health, metrics] = ports.map((port) => `http://[::1]:${port}`);
    assert.equal(await network.statusOf(`${delivery}/webhook/default/x`), 405);
    assert.equal(await network.statusOf(`${health}/readyz`), 200);
    assert.equal(await network.statusOf(`${metrics}/metrics`), 200);
  });

  test('the controller answers reviews, probes and scrapes', async (t) => {
    const network = await enterNetwork(t);
    if (!network) return;
    const { ports, env } = await controllerWith(t, await version6Kubeconfig(t), await createNamespace(t));
    const program = startProgram(t, 'dist/controller.mjs', { env, within: network.within });
    await program.waitForLog(/controller started/);
    const [admission, health, metrics] = ports;
    assert.equal(await network.statusOf(`https://[::1]:${admission}/`), 404);
    await until(() => network.statusOf(`http://[::1]:${health}/readyz`), {
      describe: 'a ready controller',
      accept: (status) => status === 200,
    });
    assert.equal(await network.statusOf(`https://[::1]:${metrics}/metrics`), 401);
  });

  test('the agent answers probes and scrapes, fetches, and reloads a gateway that listens on ::1', slow, async (t) => {
    const server = await gitServerFor(t);
    const gateway = await startFakeIgnition(t);
    const network = await enterNetwork(t, Number(new URL(server.url).port), gateway.port);
    if (!network) return;
    const repository = await server.createRepository('app');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    const reload = { preset: 'none', requests: [{ method: 'POST', path: '/reload' }] };
    await pod.setSpec(ofVersion6(repository.url), { gateway: { reload } });
    await pod.settle(commit);
    const agent = await pod.start({ GATEWAY_PORT: String(gateway.port) }, { within: network.within, apiUrl });
    await pod.untilSynced(commit);
    assert.deepEqual(
      gateway.calls.map(({ line }) => line),
      ['POST /reload'],
    );
    assert.equal(await network.statusOf(ofVersion6(`${agent.healthUrl}/readyz`)), 200);
    assert.equal(await network.statusOf(ofVersion6(`${agent.metricsUrl}/metrics`)), 200);
  });
});

suite('if the kernel has no IPv6, one log line says so, and IPv4 is used by', () => {
  /** Makes IPv6 fail with EAFNOSUPPORT, as a kernel without it does. */
  const refusing = 'data:text/javascript,process.binding("tcp_wrap").TCP.prototype.bind6=()=>-97';
  const how: Pick<ProgramOptions, 'nodeArgs'> = { nodeArgs: ['--no-deprecation', '--import', refusing] };

  test('the receiver', async (t) => {
    const { ports, env } = await receiverWith(cluster.kubeconfig);
    const program = startProgram(t, 'dist/receiver.mjs', { env, ...how });
    await program.waitForLog(/"msg":"listening"/);
    assert.equal(program.output.match(/the kernel has no IPv6/g)?.length, 1, program.output);
    for (const port of ports) assert.ok((await fetch(`http://127.0.0.1:${port}`)).status);
  });
});
