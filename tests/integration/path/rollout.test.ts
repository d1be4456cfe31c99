import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentClusterRole } from '../../../scripts/testbed/agent-role.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { apply, createNamespace, kubectl } from '../../support/cluster.ts';
import { byDepth, random } from '../../support/depth.ts';
import { markReady } from '../../support/gateway-pods.ts';
import { applyGatewaySync, request, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { openPort } from '../../support/open-port.ts';
import { controllerStarter, gatewayStarter } from '../../support/start-path.ts';

const GATEWAYS = byDepth(5, 5, 20);
const KILLS = byDepth(2, 6, 50);

/** Returns the content of the file that every gateway gets. */
function contentOf(data: string): string | undefined {
  try {
    return readFileSync(path.join(data, 'config/a.txt'), 'utf8');
  } catch {
    return undefined;
  }
}

/** Reads the disks of all gateways repeatedly, and records their contents. */
class Disks {
  readonly had: string[][];
  readonly #data: string[];
  readonly #timer: NodeJS.Timeout;

  constructor(t: TestContext, data: string[]) {
    this.#data = data;
    this.had = data.map(() => []);
    this.#timer = setInterval(() => this.#look(), 5);
    t.after(() => clearInterval(this.#timer));
  }

  #look(): void {
    for (const [index, data] of this.#data.entries()) {
      const content = contentOf(data);
      if (content !== undefined && this.had[index]?.at(-1) !== content) this.had[index]?.push(content);
    }
  }
}

/** Starts the health endpoint of all gateways, which fails while one of them has a bad file. */
async function startGateways(t: TestContext, data: () => string[]): Promise<number> {
  const server = createServer((_, response) => {
    const isBad = data().some((each) => contentOf(each) === 'bad');
    response.writeHead(isBad ? 500 : 200).end();
  });
  return await openPort(t, server);
}

test('a bad commit stays in the canary and is rolled back, however often the controller is killed', async (t) => {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const commit = (content: string) => repository.commit({ files: { 'config/a.txt': content } });
  const first = await commit('first');
  const address = { namespace: await createNamespace(t), name: 'app' };
  await apply(agentClusterRole);
  const starter = await controllerStarter(t, address.namespace);
  let controller = await starter.start();
  const data: string[] = [];
  const port = await startGateways(t, () => data);
  const spec = {
    rollout: { waves: [{ name: 'canary', gateways: 1 }], onFailure: 'Rollback', previewTimeout: '0s' },
    gateway: { port, verify: { requests: [{ path: '/healthz' }], for: '1s', interval: '1s', failureThreshold: 1 } },
  };
  await applyGatewaySync(address, { repo: repository.url }, spec);
  const names = Array.from({ length: GATEWAYS }, (_, index) => `gateway-${index}`);
  for (const name of names) {
    const gateway = await gatewayStarter(t, address.namespace, { name });
    data.push(gateway.data);
    await gateway.start();
    await markReady(address.namespace, name);
  }
  const until = (
    describe: string,
    accept: (rollout: NonNullable<NonNullable<GatewaySync['status']>['rollout']>) => boolean,
  ) =>
    untilGatewaySync(
      address,
      describe,
      ({ status }) => status?.rollout !== undefined && accept(status.rollout),
      240_000,
    );
  await untilGatewaySync(address, 'all synced', ({ status }) => status?.gateways?.synced === GATEWAYS);
  const disks = new Disks(t, data);

  const bad = await commit('bad');
  await request(address, bad);
  let isOver = false;
  const backAgain = until('taken back', ({ phase, commit: given }) => phase === 'RolledBack' && given === bad).finally(
    () => {
      isOver = true;
    },
  );
  for (let kill = 0; kill < KILLS && !isOver; kill += 1) {
    await sleep(random() * 600);
    await controller.kill();
    controller = await starter.start();
  }
  const back = await backAgain;
  assert.equal(back.status?.rollout?.stableCommit, first);
  const canaries = disks.had.filter((had) => had.includes('bad'));
  assert.deepEqual(canaries, [['first', 'bad', 'first']], 'one gateway had it, and has it no more');
  assert.equal(disks.had.filter((had) => had.join() === 'first').length, GATEWAYS - 1, 'no other one ever had it');
  assert.equal(back.status?.lastRequest?.outcome, 'Failed');
  assert.match(back.status?.rollout?.failureMessage ?? '', /500/);

  await controller.kill();
  controller = await starter.start();
  await kubectl('annotate', 'gsync', 'app', '--namespace', address.namespace, 'example.com/look=again');
  const good = await commit('good');
  await request(address, good);
  const done = await until('the next commit', ({ phase, commit: given }) => phase === 'Complete' && given === good);
  assert.equal(
    done.status?.rollout?.number,
    (back.status?.rollout?.number ?? 0) + 1,
    'the bad commit was not tried again',
  );
  await untilGatewaySync(address, 'all good', ({ status }) => status?.gateways?.synced === GATEWAYS);
  assert.deepEqual(
    data.map(contentOf),
    data.map(() => 'good'),
  );
});
