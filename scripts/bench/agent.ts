import { parseArgs } from 'node:util';
import { buildBundles } from '../demo/build-bundles.ts';
import { measureFleet } from './agent/fleet.ts';
import { measureRestarts } from './agent/restarts.ts';
import { measureTree } from './agent/trees.ts';
import { printTable, type Row } from './table.ts';
import { inWorld } from './world.ts';

/**
 * One agent with 200 files and with 20,000 (trees), starts on a volume that has the files while the git server is down
 * (restarts), and 100 agents that follow one GatewaySync (fleet); `--only trees,restarts,fleet --changes 20
 * --idle-seconds 60 --restarts 5 --agents 100`.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: 'trees,restarts,fleet' },
      changes: { type: 'string', default: '20' },
      'idle-seconds': { type: 'string', default: '60' },
      restarts: { type: 'string', default: '5' },
      agents: { type: 'string', default: '100' },
    },
  });
  const parts = values.only.split(',');
  const options = { changes: Number(values.changes), idleSeconds: Number(values['idle-seconds']) };
  await buildBundles();
  await inWorld(async (world) => {
    const rows: Row[] = [];
    if (parts.includes('trees')) {
      for (const files of [200, 20_000]) rows.push(...(await measureTree(world, files, options)));
    }
    if (parts.includes('restarts')) {
      rows.push(...(await measureRestarts(world, { files: 20_000, restarts: Number(values.restarts) })));
    }
    if (parts.includes('fleet')) rows.push(...(await measureFleet(world, Number(values.agents))));
    printTable(['what', 'measured', 'aim'], rows);
  });
}
