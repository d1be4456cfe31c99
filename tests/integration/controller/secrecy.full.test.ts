import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { apply, connectCluster, kubectl } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { skipWithoutSshd } from '../../support/ssh-server.ts';
import { startControllerProcess } from '../../support/start-controller.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { untilWebhookWorks } from '../../support/webhook-configuration.ts';
import { startReceiver } from '../receiver/start-receiver.ts';
import { appCases, type CredentialCase, randomSecret, sshCases, tokenCases } from './credential-cases.ts';
import { createPod, prepareInjection } from './injection-world.ts';
import { processArguments } from './process-arguments.ts';

/** Forms in which a secret could appear: unchanged, each line of a key, in base64, as the password of a header. */
function formsOf(secret: string): string[] {
  const lines = secret.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----'));
  const encoded = [secret, secret.trim(), ...lines, `x-access-token:${secret.trim()}`].map((text) =>
    Buffer.from(text).toString('base64').replace(/=+$/, ''),
  );
  return [...lines, ...encoded];
}

/** Watches the arguments of a process and its children until it is stopped. */
function watchArguments(pid: number): { seen: ReadonlySet<string>; stop: () => Promise<Set<string>> } {
  const seen = new Set<string>();
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; await sleep(10)) for (const line of (await processArguments(pid)).values()) seen.add(line);
  })();
  return {
    seen,
    stop: async () => {
      isOver = true;
      await watching;
      return seen;
    },
  };
}

/** A receiver with a secret and a token, and deliveries with valid and invalid ones: the secrets, and the output. */
async function deliver(t: TestContext, namespace: string, name: string) {
  const hmac = randomSecret('hmac');
  const token = randomSecret('token');
  const wrong = randomSecret('wrong');
  const directory = await temporaryDirectory(t, 'receiver-secrets-');
  const file = (key: string) => path.join(directory, key);
  await writeFile(file('hmac'), hmac);
  await writeFile(file('token'), token);
  const { program, post } = await startReceiver(t, (await connectCluster()).kubeconfig, {
    WEBHOOK_HMAC_SECRET_FILE: file('hmac'),
    WEBHOOK_BEARER_TOKEN_FILE: file('token'),
    LOG_LEVEL: 'trace',
  });
  const watched = watchArguments(program.pid);
  const body = JSON.stringify({ ref: 'refs/heads/main' });
  const macOf = (key: string) => createHmac('sha256', key).update(body).digest('hex');
  const signed = (key: string) => ({ 'X-GitHub-Event': 'push', 'X-Hub-Signature-256': `sha256=${macOf(key)}` });
  const target = `${namespace}/${name}`;
  const accepted = [signed(hmac), { Authorization: `Bearer ${token}` }];
  const refused = [signed(wrong), { Authorization: `Bearer ${wrong}` }];
  const answers = [];
  for (const headers of [...accepted, ...refused]) answers.push(await post(target, body, headers));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 202, 401, 401],
  );
  await program.stop();
  return {
    secrets: [hmac, token, wrong, macOf(hmac), macOf(wrong)],
    places: {
      answers: JSON.stringify(answers.map((answer) => [answer.body, ...answer.headers])),
      'log of the receiver': program.output,
      'arguments of the receiver': [...(await watched.stop())].join('\n'),
    },
  };
}

const RESOURCES = 'gatewaysyncs,syncreports,events.v1.events.k8s.io,configmaps,pods,rolebindings,leases';

/** Cases, of which the server accepts the first, and secrets that are created on the way. */
interface Kind {
  cases: CredentialCase[];
  others: () => string[];
  /** A command that must be seen running. */
  command?: string;
}

const KINDS: { kinds: string; skip: string | false; make: (t: TestContext) => Promise<Kind> }[] = [
  {
    kinds: 'tokens, and keys of GitHub Apps,',
    skip: false,
    make: async (t) => {
      const { cases, secrets } = await appCases(t);
      return { cases: [...(await tokenCases(t)), ...cases], others: secrets };
    },
  },
  {
    kinds: 'SSH keys',
    skip: skipWithoutSshd,
    make: async (t) => ({ cases: await sshCases(t), others: () => [], command: 'ssh' }),
  },
];

for (const { kinds, skip, make } of KINDS) {
  test(`${kinds} stay secret, whether the server accepts them or not`, { skip }, async (t) => {
    const { cases, others, command } = await make(t);
    const { namespace, environment } = await prepareInjection(t);
    const traced = { ...environment, GITHUB_APP: 'true', LOG_LEVEL: 'trace' };
    const controller = await startControllerProcess(t, namespace, traced);
    await untilWebhookWorks(namespace);
    const watched = watchArguments(controller.pid);
    const writeSecret = (name: string, stringData: object) =>
      apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData });
    const apiKey = randomSecret('apikey');
    await writeSecret('gateway', { apiKey });
    for (const { name, git, data } of cases) {
      await writeSecret(name, data);
      await applyGatewaySync({ namespace, name }, git, { gateway: { api: { secretName: 'gateway' } } });
      await createPod(gatewayPod(namespace, name, { 'sync.io/cr-name': name }));
    }
    for (const { name, reason } of cases) {
      const isThere = (resource: Parameters<typeof condition>[0]) =>
        condition(resource, 'RefResolved')?.reason === reason;
      await untilGatewaySync({ namespace, name }, `${name}: ${reason}`, isThere);
    }
    const [{ name } = { name: '' }] = cases;
    const delivered = await deliver(t, namespace, name);
    await untilGatewaySync({ namespace, name }, 'the push', ({ status }) => !!status?.lastPush);
    // It can be too short to be seen, but is repeated for a key that the server refuses.
    if (command)
      await until(() => [...watched.seen].some((line) => line.startsWith(`${command} `)), {
        describe: `${command} at work`,
      });
    await controller.stop();
    const lines = [...(await watched.stop())];
    const places = {
      ...delivered.places,
      'log of the controller': controller.output,
      'arguments of the controller': lines.join('\n'),
      cluster: await kubectl('get', RESOURCES, '--namespace', namespace, '--show-managed-fields', '--output', 'json'),
    };
    for (const kind of ['Event', 'ConfigMap', 'Pod', 'RoleBinding', 'GatewaySync'])
      assert.ok(places.cluster.includes(`"kind": "${kind}"`), `there is a ${kind}`);
    for (const secret of [...cases.map((each) => each.secret), ...others(), ...delivered.secrets, apiKey]) {
      for (const form of formsOf(secret))
        for (const [place, text] of Object.entries(places))
          assert.ok(!text.includes(form), `a secret (${secret.slice(0, 6)}…) is in the ${place}`);
    }
  });
}
