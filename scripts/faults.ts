import { cp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { gatewaySyncPath, syncReportPath } from '../shared/io/kubernetes/resource-path.ts';
import { buildBundles } from './demo/build-bundles.ts';
import { piecesOf } from './faults/plan.ts';
import { runFaults } from './faults/run.ts';
import type { World } from './faults/world/world.ts';

// Breaks the programs, the API server, the git servers, and the disks with a plan made from a seed, and compares the
// product's promises with reality: `npm run test:faults -- --seed 7 --faults 500`

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    faults: { type: 'string', default: '500' },
    /** Ends before the next piece after this many minutes. */
    minutes: { type: 'string' },
    /** Directory for logs that explain a failure. */
    keep: { type: 'string' },
  },
});

const deadline = values.minutes === undefined ? Number.POSITIVE_INFINITY : Date.now() + Number(values.minutes) * 60_000;
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`);

async function keepLogs({ directory, plane }: World): Promise<void> {
  if (!values.keep) return;
  await rm(values.keep, { recursive: true, force: true });
  await cp(path.join(directory, 'logs'), path.resolve(values.keep), { recursive: true });
  await cp(path.join(directory, 'audit.log'), path.resolve(values.keep, 'audit.log')).catch(() => {});
  for (const [name, at] of Object.entries({ resources: gatewaySyncPath(), reports: syncReportPath() })) {
    const objects = await plane.ask<object>({ path: at }).catch(String);
    await writeFile(path.resolve(values.keep, `${name}.json`), JSON.stringify(objects, null, 2));
  }
}

// Started programs end with this process; disks are unmounted as it exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

await buildBundles('receiver', 'controller', 'agent');
const first = Number(values.seed ?? Math.floor(Math.random() * 1e6));
for (const { seed, faults } of piecesOf({ seed: first, faults: Number(values.faults) })) {
  if (Date.now() >= deadline) break;
  say(`seed ${seed}, ${faults} faults`);
  try {
    const samples = await runFaults({ seed, faults, say, onFailure: keepLogs });
    say(`seed ${seed}: every promise held in ${samples} checks during ${faults} faults`);
  } catch (error) {
    say(`seed ${seed}: ${(error as Error).message}`);
    say(`to replay: npm run test:faults -- --seed ${seed} --faults ${faults}`);
    process.exitCode = 1;
    break;
  }
}
