import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { makeTemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, request, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { runCli } from '../../support/run-cli.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

type Host = NonNullable<Parameters<typeof runCli>[1]>;

/** A resource without a controller, unless a test starts one. */
async function arrange(t: TestContext, ref = 'main', repo = 'https://git.example/x') {
  const address = { namespace: await createNamespace(t), name: 'app' };
  await applyGatewaySync(address, { repo, ref });
  const { kubeconfig } = await connectCluster();
  const resource = gatewaySyncPath(address.namespace, address.name);
  return {
    address,
    resource,
    stoker: (line: string[], host: Host = {}, config = kubeconfig) =>
      runCli([...line, '-n', address.namespace, '--kubeconfig', config], host),
    requested: async () => {
      const { metadata } = await callApi<GatewaySync>({ path: resource });
      return metadata.annotations?.['sync.io/requested-ref'];
    },
  };
}

suite('kubectl stoker sync requests', { concurrency: 4 }, () => {
  test('the ref of the spec right after an edit', async (t) => {
    const server = await gitServerFor(t);
    const repository = await server.createRepository('app');
    await repository.commit({ files: { 'config/a': '1' } });
    for (const tag of ['v1', 'v2']) await repository.git('tag', tag);
    const { address, stoker, requested } = await arrange(t, 'v1', repository.url);
    const controller = await startController(t, address.namespace);
    await untilGatewaySync(address, 'v1', ({ status }) => status?.target?.ref === 'v1');
    await controller.stop();
    await applyGatewaySync(address, { repo: repository.url, ref: 'v2' });
    const { status, notes } = await stoker(['sync', 'app']);
    assert.equal(status, 0, notes);
    assert.match(notes, /^requested v2 /);
    assert.equal(await requested(), 'v2');
    await startController(t, address.namespace);
    await untilGatewaySync(address, 'v2', ({ status }) => status?.target?.ref === 'v2');
  });

  test('nothing in place of an open request without a confirmation', async (t) => {
    const { address, stoker, requested } = await arrange(t);
    await request(address, 'next');
    const silent = await stoker(['sync', 'app']);
    assert.equal(silent.status, 64, silent.notes);
    assert.match(silent.notes, /app: the open request for next by github at .* will be replaced by a request for main/);
    assert.match(silent.notes, /nothing was changed: without a terminal to confirm on, add --yes/);
    const declined = await stoker(['sync', 'app'], { confirm: async () => false });
    assert.equal(declined.status, 1, declined.notes);
    assert.equal(await requested(), 'next');

    const same = await stoker(['sync', 'app', '--ref', 'next']);
    assert.equal(same.status, 0, same.notes);

    const questions: string[] = [];
    const confirm = async (question: string) => {
      questions.push(question);
      if (questions.length === 1) await request(address, 'later');
      return true;
    };
    const agreed = await stoker(['sync', 'app'], { confirm });
    assert.equal(agreed.status, 0, agreed.notes);
    assert.equal(questions.length, 2);
    assert.match(agreed.notes, /open request for later by .* at/);
    assert.equal(await requested(), 'main');

    const forced = await stoker(['sync', 'app', '--ref', 'v3', '--yes']);
    assert.equal(forced.status, 0, forced.notes);
    assert.match(forced.notes, /request for main by kubectl-stoker-refresh .*\nrequested v3/);
    assert.equal(await requested(), 'v3');
  });

  test('a ref without printing its control characters', async (t) => {
    const { resource, stoker, requested } = await arrange(t);
    const body = { spec: { git: { ref: 'main\u009b2J\u202egnp' } } };
    await callApi({ method: 'PATCH', path: resource, body, contentType: 'application/merge-patch+json' });
    const { status, notes } = await stoker(['sync', 'app']);
    assert.equal(status, 0, notes);
    assert.match(notes, /^requested main\ufffd2J\ufffdgnp /);
    assert.equal(await requested(), 'main\u009b2J\u202egnp');
  });
});

/** A relay to the API server that can be interrupted; it then rejects and counts connections. */
async function startWay(t: TestContext) {
  const { url, kubeconfig } = await connectCluster();
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  const way = { isCut: false, refused: 0 };
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    if (way.isCut) {
      way.refused += 1;
      socket.resetAndDestroy();
      return;
    }
    const onward = connect(Number(port), hostname);
    keep(onward);
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const end = () => {
    for (const socket of open) socket.destroy();
  };
  const directory = await makeTemporaryDirectory('cli-');
  t.after(async () => {
    server.close();
    end();
    await directory.remove();
  });
  const { port: own } = server.address() as { port: number };
  const config = path.join(directory.path, 'kubeconfig');
  await writeFile(config, (await readFile(kubeconfig, 'utf8')).replaceAll(url, `https://127.0.0.1:${own}`));
  return {
    config,
    cutUntil: async (inBetween: () => Promise<unknown>) => {
      way.isCut = true;
      end();
      await until(async () => way.refused, { describe: 'two that were sent away', accept: (count) => count >= 2 });
      await inBetween();
      way.isCut = false;
    },
  };
}

suite('a broken connection', { concurrency: 2 }, () => {
  for (const line of [
    ['sync', 'app', '--wait'],
    ['trace', 'app'],
  ]) {
    test(`doesn't end ${line.join(' ')}`, slow, async (t) => {
      const [{ resource, stoker }, way] = await Promise.all([arrange(t), startWay(t)]);
      let heard = () => {};
      const begins = new Promise<void>((resolve) => {
        heard = resolve;
      });
      let output = '';
      const host: Host = {
        note: () => heard(),
        print: (text) => {
          output += text;
        },
      };
      const waiting = stoker([...line, '--timeout', '60s'], host, way.config);
      await begins;
      await way.cutUntil(async () => {
        const { metadata } = await callApi<GatewaySync>({ path: resource });
        const { annotations = {}, generation } = metadata;
        const time = new Date().toISOString();
        const ready = { type: 'Ready', status: 'True', reason: 'Synced', message: 'x', lastTransitionTime: time };
        const status = {
          observedGeneration: generation,
          target: { ref: 'main', source: 'Spec' },
          lastSyncRef: 'refs/heads/main',
          lastSyncCommit: 'c0ffee11'.repeat(5),
          lastSyncTime: time,
          lastRequest: { ref: 'main', at: annotations['sync.io/requested-at'] ?? time, outcome: 'Applied' },
          conditions: [ready],
        };
        const contentType = 'application/merge-patch+json';
        await callApi({ method: 'PATCH', path: `${resource}/status`, body: { status }, contentType });
      });
      const { status } = await waiting;
      assert.equal(status, 0, output);
    });
  }
});
