import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createNamespace } from '../../support/cluster.ts';
import {
  type Address,
  applyGatewaySync,
  patchResource,
  untilCommit,
  untilGatewaySync,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';

async function arrange(t: TestContext) {
  const { repository, commit } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  await startController(t, address.namespace);
  await applyGatewaySync(address, { repo: repository.url });
  await untilCommit(address, commit);
  return address;
}

/**
 * Annotates the resource a hundred times per second until it is stopped, or less often if the machine is busy, so that
 * others have their turn; `stored` counts the stored versions.
 */
function annotateConstantly(t: TestContext, address: Address) {
  const traffic = { stored: 0, isOver: false };
  const run = async () => {
    for (let n = 0; !traffic.isOver; n += 1) {
      const started = performance.now();
      await patchResource(address, { metadata: { annotations: { 'example.com/delivery': `${n}` } } });
      traffic.stored += 1;
      const tookMs = performance.now() - started;
      await sleep(Math.max(10 - tookMs, 2 * tookMs));
    }
  };
  const ended = run();
  t.after(async () => {
    traffic.isOver = true;
    await ended;
  });
  return traffic;
}

suite('the status of a resource', () => {
  test('is right within a second while the resource is patched a hundred times per second', async (t) => {
    const address = await arrange(t);
    const traffic = annotateConstantly(t, address);
    for (const paused of [true, false, true]) {
      await patchResource(address, { spec: { paused } });
      const before = traffic.stored;
      await untilGatewaySync(
        address,
        `paused: ${paused}`,
        ({ metadata, status, spec }) => spec.paused === paused && status?.observedGeneration === metadata.generation,
      );
      // Counted in patches, because a busy machine slows both down.
      const patches = traffic.stored - before;
      t.diagnostic(`right after ${patches} patches`);
      assert.ok(patches <= 100, `only right after ${patches} patches`);
    }
  });
});
