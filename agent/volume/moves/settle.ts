import { unlinkSync } from 'node:fs';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { Logger } from '../../../shared/log.ts';
import { isSeen, statOf } from '../../disk/seen-file.ts';
import { hasJournal, Journal, removeJournal } from '../manifest/journal.ts';
import type { ManifestFile } from '../manifest/manifest-file.ts';
import type { FileMove, Move } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';
import { type Stores, withStores } from '../state/stores.ts';
import { clearBuilding, completeUndone, dropRetired } from '../trees/retired-trees.ts';
import { undoMoves } from './undo-moves.ts';

interface Volume {
  root: DataRoot;
  manifestFile: ManifestFile;
  log: Logger;
}

/**
 * Restores the state in the manifest while the volume is held: undoes a failed or interrupted sync, or clears up after
 * a completed one. Returns whether there was one. Can be interrupted at any step, and then starts again.
 */
export async function settleVolume({ root, manifestFile, log }: Volume): Promise<boolean> {
  await manifestFile.read(); // directories of another version remain unchanged
  if (!hasJournal(root)) {
    await clearLeftovers(root);
    return false;
  }
  await using journal = await Journal.open(root);
  const hasEnded = journal ? await undoUnlessEnded(journal, { root, manifestFile, log }) : false;
  await clearUp(journal?.moves() ?? [], root, { hasEnded });
  return true;
}

/** Removes what a sync that moved no file has staged and built. */
export async function clearLeftovers(root: DataRoot): Promise<void> {
  await clearBuilding(root);
  await withStores(root, emptyStores);
}

/** Undoes the sync unless the manifest records its end; returns whether it does. */
async function undoUnlessEnded(journal: Journal, { root, manifestFile, log }: Volume): Promise<boolean> {
  const { journal: last } = await manifestFile.read();
  const hasEnded = last === journal.id;
  if (hasEnded) manifestFile.flush();
  else {
    const taken = await undoMoves(journal, root);
    const manifest = await manifestFile.read();
    for await (const move of journal.moves()) {
      if (move.kind === 'publish' && move.tree !== undefined)
        await completeUndone(move.path, move.tree, manifest, root);
    }
    await disown(taken, manifestFile);
  }
  log.info({ journal: journal.id, undone: !hasEnded }, 'earlier sync settled');
  return hasEnded;
}

/** Forgets paths at which files of others appeared while the agent removed its own. */
async function disown(paths: string[], manifestFile: ManifestFile): Promise<void> {
  const { applied, files } = await manifestFile.read();
  const forgottenFiles = paths.filter((path) => files.has(path));
  if (forgottenFiles.length === 0) return;
  const none = { files: [], folders: [], forgottenFolders: [] };
  // Without a recipe, a restarted agent doesn't assume that the commit is complete.
  await manifestFile.append({ ...none, forgottenFiles, applied: applied && { ...applied, recipe: undefined } });
}

/** Clears up after a sync that ended or was undone, and removes its journal; `moves` are the listed ones. */
export async function clearUp(
  moves: Iterable<Move> | AsyncIterable<Move>,
  root: DataRoot,
  { hasEnded }: { hasEnded: boolean },
): Promise<void> {
  const pacer = new Pacer();
  await clearBuilding(root);
  await withStores(root, async (stores) => {
    for await (const move of moves) {
      if (hasEnded && move.kind === 'publish' && move.tree !== undefined) dropRetired(move.tree, root);
      if (move.kind !== 'file') continue;
      await releaseSaved(move, stores);
      if (pacer.isDue) await pacer.rest();
    }
    await emptyStores(stores);
  });
  removeJournal(root);
}

/** Removes a saved entry that was the agent's, and moves others to `taken-over`. */
async function releaseSaved({ path, number, oldEntry, newFile, isForeign }: FileMove, stores: Stores): Promise<void> {
  const { saved, takenOver } = stores;
  const place = saved.at(`${number}`);
  if (!statOf(place)) return;
  // Only an undone move puts the new file there.
  const expected = oldEntry ?? newFile;
  const isAgents = !isForeign && expected !== undefined && (await isSeen(place, expected));
  if (isAgents) saved.unlink(`${number}`);
  else takenOver.put(place, path);
}

/** The path of an entry that no journal lists, for its name in `taken-over`. */
const unlistedPath = (name: string): string => `saved.${name.replace(/[^\w.-]/g, '_')}`;

/** Empties the transit directories. Remaining entries of `saved` belong to others. */
async function emptyStores(stores: Stores): Promise<void> {
  const { saved, staging, takenOver } = stores;
  const pacer = new Pacer();
  for (const name of saved.rawNames()) {
    takenOver.put(saved.rawPath(name), unlistedPath(name));
    if (pacer.isDue) await pacer.rest();
  }
  for (const name of staging.rawNames()) {
    const path = staging.rawPath(name);
    // The agent creates no directories there.
    if (statOf(path)?.isDirectory()) takenOver.put(path, unlistedPath(name));
    else unlinkSync(path);
    if (pacer.isDue) await pacer.rest();
  }
}
