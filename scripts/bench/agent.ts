import { buildBundles } from '../demo/build-bundles.ts';
import { measureFleet } from './agent/fleet.ts';
import { measureRestarts } from './agent/restarts.ts';
import { measureTree } from './agent/trees.ts';
import { readOptions } from './support/read-options.ts';
import { printTable, type Row } from './support/table.ts';
import { inWorld } from './support/world.ts';

/**
 * Benchmarks an agent with 200 and with 20,000 files (trees), starts on a volume with files while the git server is down
 * (restarts), and 100 agents that follow one GatewaySync (fleet); `--only trees,restarts,fleet --changes 20
 * --idle-seconds 60 --restarts 5 --agents 100`.
 */
export async function run(args: string[]): Promise<void> {
  const options = readOptions(args, {
    only: 'trees,restarts,fleet',
    changes: 20,
    'idle-seconds': 60,
    restarts: 5,
    agents: 100,
  });
  const parts = options.only.split(',');
  await buildBundles();
  await inWorld(async (world) => {
    const rows: Row[] = [];
    if (parts.includes('trees')) {
      for (const files of [200, 20_000])
        rows.push(
          ...(await measureTree(world, files, { changes: options.changes, idleSeconds: options['idle-seconds'] })),
        );
    }
    if (parts.includes('restarts')) {
      rows.push(...(await measureRestarts(world, { files: 20_000, restarts: options.restarts })));
    }
    if (parts.includes('fleet')) rows.push(...(await measureFleet(world, options.agents)));
    printTable(['what', 'measured', 'aim'], rows);
  });
}
