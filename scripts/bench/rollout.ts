import { buildBundles } from '../demo/build-bundles.ts';
import { measurePreview } from './rollout/preview.ts';
import { measurePlayedPreview } from './rollout/preview-played.ts';
import { measureRollback } from './rollout/roll-back.ts';
import { measureRollout } from './rollout/roll-out.ts';
import { readOptions } from './support/read-options.ts';
import { printTable, type Row } from './support/table.ts';
import { inWorld } from './support/world.ts';

/**
 * Measures a rollout to many simulated gateways (waves), a preview by them, and by real agents next to a sync (preview),
 * and a rollback of real agents without their git server (back); `--only waves,preview,back --gateways 1000 --agents 100`.
 */
export async function run(args: string[]): Promise<void> {
  const { only, gateways, agents } = readOptions(args, { only: 'waves,preview,back', gateways: 1_000, agents: 100 });
  const parts = only.split(',');
  await buildBundles();
  await inWorld(async (world) => {
    const rows: Row[] = [];
    if (parts.includes('waves')) rows.push(...(await measureRollout(world, gateways)));
    if (parts.includes('preview')) {
      rows.push(...(await measurePlayedPreview(world, gateways)), ...(await measurePreview(world, agents)));
    }
    if (parts.includes('back')) rows.push(...(await measureRollback(world, agents)));
    printTable(['what', 'measured', 'aim'], rows);
  });
}
