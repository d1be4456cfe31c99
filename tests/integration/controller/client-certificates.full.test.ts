import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import path from 'node:path';
import { test } from 'node:test';
import { callApi } from '../../../scripts/testbed/call-api.ts';
import { startApiServer } from '../../../scripts/testbed/control-plane.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { installCrds } from '../../../scripts/testbed/install-crds.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { webhookConfiguration } from '../../../scripts/testbed/webhook-configuration.ts';
import { corePath, gatewaySyncPath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { gatewaySync } from '../../support/gateway-syncs.ts';
import { blocksOf, commandsOf, readPages, wordsOf } from '../../support/markdown.ts';
import { startProgram } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const namespace = 'default';

test('only an API server that is configured as documented gets answers to its reviews', async (t) => {
  const directory = await temporaryDirectory(t, 'admission-');
  const port = await freePort();
  await followDocs(directory, port);
  const configuration = path.join(directory, 'config.yaml');
  const server = await startApiServer(`--admission-control-config-file=${configuration}`);
  t.after(() => server.stop());
  await installCrds(server);
  const create = (to: string, body: object) => callApi<object>(server, { method: 'POST', path: to, body });
  await create(corePath('serviceaccounts', namespace), { metadata: { name: 'default' } });
  const address = { namespace, name: 'app' };
  await create(gatewaySyncPath(namespace), gatewaySync(address, { repo: 'https://git.example.test/site.git' }));
  const webhooks = groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations');
  await create(webhooks, webhookConfiguration({ name: 'inject', namespace, port }));

  const controller = startProgram(t, 'dist/controller.mjs', {
    env: {
      KUBECONFIG: server.kubeconfig,
      TMPDIR: directory,
      LEADER_ELECTION: 'false',
      METRICS_PORT: '0',
      WEBHOOK_PORT: String(port),
      WEBHOOK_SELF_SIGNED: 'inject',
      DEFAULT_AGENT_IMAGE: 'agent:1',
      WEBHOOK_CLIENT_CA_FILE: path.join(directory, 'ca.crt'),
      HEALTH_PORT: String(await freePort()),
    },
  });
  await controller.waitForLog(/controller started/);
  const pod = gatewayPod(namespace, 'gateway-0');
  await until(() => create(corePath('pods', namespace), pod).then(JSON.stringify, String), {
    describe: 'the sidecar',
    accept: (answer) => answer.includes('"sync-agent"'),
  });
  await assert.rejects(connectWithoutCertificate(port), /certificate required|ECONNRESET|socket hang up/);
});

/** Follows the page, but in another directory, and for a webhook that is found by its address. */
async function followDocs(directory: string, port: number): Promise<void> {
  const page = (await readPages()).find(({ file }) => file === 'docs/how-to/hardening.md');
  assert.ok(page);
  for (const command of commandsOf(page).filter((line) => line.startsWith('openssl ')))
    await runCommand('openssl', wordsOf(command).slice(1), { cwd: directory });
  for (const { code } of blocksOf(page)) {
    const file = /^# \/etc\/kubernetes\/admission\/([\w.]+)/.exec(code)?.[1];
    if (file === undefined) continue;
    const here = code
      .replaceAll('/etc/kubernetes/admission', directory)
      .replace('stoker-operator-webhook.stoker-system.svc', `127.0.0.1:${port}`);
    await writeFile(path.join(directory, file), here);
  }
}

function connectWithoutCertificate(port: number): Promise<unknown> {
  const options = { port, host: '127.0.0.1', path: '/mutate-v1-pod', method: 'POST', rejectUnauthorized: false };
  return new Promise((resolve, reject) =>
    request({ ...options, agent: false }, resolve)
      .on('error', reject)
      .end(),
  );
}
