import { parseArgs } from 'node:util';
import { buildBundles } from '../demo/build-bundles.ts';
import { measureRollback } from './rollout/roll-back.ts';
import { measureRollout } from './rollout/roll-out.ts';
import { printTable, type Row } from './table.ts';
import { inWorld } from './world.ts';

/**
 * A rollout to many gateways whose agents are played (waves), and a rollback of real agents without their git server
 * (back); `--only waves,back --gateways 1000 --agents 100`.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: 'waves,back' },
      gateways: { type: 'string', default: '1000' },
      agents: { type: 'string', default: '100' },
    },
  });
  const parts = values.only.split(',');
  await buildBundles();
  await inWorld(async (world) => {
    const rows: Row[] = [];
    if (parts.includes('waves')) rows.push(...(await measureRollout(world, Number(values.gateways))));
    if (parts.includes('back')) rows.push(...(await measureRollback(world, Number(values.agents))));
    printTable(['what', 'measured', 'aim'], rows);
  });
}
