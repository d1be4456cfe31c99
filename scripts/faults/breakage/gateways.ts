import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { blobOf } from '../world/files.ts';
import type { Gateway } from '../world/gateway.ts';
import { TOO_MUCH } from '../world/make-fleet.ts';
import { type Breakages, pick } from './breakage.ts';

let files = 0;

/** Faults on the disks of gateways: delivered files are changed, other files are added, or the disk is filled. */
export const gateways = {
  'change a file': async (world, { target, choice }) => {
    const gateway = pick(world.gateways, target);
    const name = deliveredFile(gateway, choice);
    if (!name) return { did: `found no file to change on ${gateway.name}` };
    const content = Buffer.from(`changed by hand: ${choice}\n`);
    gateway.isDisturbed = true;
    gateway.drifted.add(`${name} ${blobOf(content)}`);
    await replace(path.join(gateway.data, name), content);
    return { did: `changed ${name} on ${gateway.name}` };
  },
  'delete a file': async (world, { target, choice }) => {
    const gateway = pick(world.gateways, target);
    const name = deliveredFile(gateway, choice);
    if (!name) return { did: `found no file to delete on ${gateway.name}` };
    gateway.isDisturbed = true;
    await rm(path.join(gateway.data, name), { force: true, recursive: true });
    return { did: `deleted ${name} on ${gateway.name}` };
  },
  'add a foreign file': async (world, { target, choice }) => {
    const gateway = pick(world.gateways, target);
    files += 1;
    const name = pick([`config/theirs-${files}`, `theirs/${files}`, `config/d1/theirs-${files}`], choice);
    await gateway.addForeign(name, `of the gateway: ${choice}`).catch(() => {});
    return { did: `added the gateway's file ${name} to ${gateway.name}` };
  },
  'fill the disk': async (world, { target }) => {
    const small = world.gateways.filter(({ isSmall }) => isSmall);
    if (small.length === 0) return { did: 'filled no disk, because this machine allows no small one' };
    const gateway = pick(small, target);
    const file = path.join(gateway.data, 'filling');
    await writeFile(file, TOO_MUCH).catch(() => {});
    return { did: `filled the disk of ${gateway.name}`, heal: () => rm(file, { force: true }) };
  },
} satisfies Breakages;

function deliveredFile(gateway: Gateway, choice: number): string | undefined {
  const names = [...gateway.look().keys()].filter((name) => !gateway.isForeign(name)).sort();
  return names.length > 0 ? pick(names, choice) : undefined;
}

/** Replaces a file in one step, as editors do, if it exists. */
async function replace(file: string, content: Buffer): Promise<void> {
  try {
    const unfinished = `${file}.by-hand`;
    await writeFile(unfinished, content);
    await chmod(unfinished, 0o644);
    await rename(unfinished, file);
  } catch {
    // Its directory was deleted in the meantime, or the disk is full.
  }
}
