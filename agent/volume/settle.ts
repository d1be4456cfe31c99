import { unlinkSync } from 'node:fs';
import { Pacer } from '../../shared/io/pacer.ts';
import type { Logger } from '../../shared/log.ts';
import type { DataRoot } from './data-root.ts';
import type { HeldFolder } from './held-folder.ts';
import { hasJournal, Journal, removeJournal } from './journal.ts';
import type { ManifestFile } from './manifest-file.ts';
import { type FileMove, type Move, split } from './move.ts';
import { nameAside, putAside } from './put-aside.ts';
import { isSameFile, isSeen, statOf } from './seen-file.ts';
import { type Stores, tryAt, withStores } from './stores.ts';
import { undoMoves } from './undo-moves.ts';

interface Volume {
  root: DataRoot;
  manifestFile: ManifestFile;
  log: Logger;
}

/**
 * Brings the volume to what the manifest says, while it is held: undoes a sync that failed or was cut off, or clears up
 * after one that ended. Returns whether there was one. It may be cut off itself at any step, and begins again then.
 */
export async function settleVolume({ root, manifestFile, log }: Volume): Promise<boolean> {
  await manifestFile.read(); // another version's directories stay as they are
  if (!hasJournal(root)) {
    await withStores(root, emptyStores);
    return false;
  }
  await using journal = await Journal.open(root);
  const hasEnded = journal ? await undoUnlessEnded(journal, { root, manifestFile, log }) : false;
  await clearUp(journal?.moves() ?? [], root, { hasEnded });
  return true;
}

/** Undoes the sync unless the manifest says that it ended, which is returned. */
async function undoUnlessEnded(journal: Journal, { root, manifestFile, log }: Volume): Promise<boolean> {
  const { journal: last } = await manifestFile.read();
  const hasEnded = last === journal.id;
  if (hasEnded) manifestFile.flush();
  else await disown(await undoMoves(journal, root), manifestFile);
  log.info({ journal: journal.id, undone: !hasEnded }, 'earlier sync settled');
  return hasEnded;
}

/** Files of others took the place of ones that were about to go: the agent owns those paths no longer. */
async function disown(paths: string[], manifestFile: ManifestFile): Promise<void> {
  const { applied, files } = await manifestFile.read();
  const forgottenFiles = paths.filter((path) => files.has(path));
  if (forgottenFiles.length === 0) return;
  const none = { files: [], folders: [], forgottenFolders: [] };
  // Without a recipe, no restart takes what is there for all of the commit.
  await manifestFile.append({ ...none, forgottenFiles, applied: applied && { ...applied, recipe: undefined } });
}

/** Clears up after a sync that ended or was undone, and removes its journal; `moves` are those that it lists. */
export async function clearUp(
  moves: Iterable<Move> | AsyncIterable<Move>,
  root: DataRoot,
  { hasEnded }: { hasEnded: boolean },
): Promise<void> {
  const pacer = new Pacer();
  await withStores(root, async (stores, held) => {
    for await (const move of moves) {
      if (move.kind !== 'file') continue;
      await releaseSaved(move, stores);
      if (hasEnded && move.comesFrom !== undefined) dropCopy(move.comesFrom, move.path, { held, stores });
      if (pacer.isDue) await pacer.rest();
    }
    await emptyStores(stores);
  });
  removeJournal(root);
}

/** Removes what left its place if it was the agent's, and moves it to `taken-over` if it wasn't. */
async function releaseSaved({ number, leaves, comes, displacedTo }: FileMove, stores: Stores): Promise<void> {
  const { saved } = stores;
  const path = saved.at(`${number}`);
  if (!statOf(path)) return;
  // Only an undone move puts what came there.
  const expected = leaves ?? comes;
  const isAgents = displacedTo === undefined && expected !== undefined && (await isSeen(path, expected));
  if (isAgents) saved.unlink(`${number}`);
  else putAside(path, displacedTo ?? nameAside(`${number}`), stores);
}

/** Removes the copy in `taken-over` of a file that is in its place again. */
function dropCopy(name: string, path: string, { held, stores }: { held: HeldFolder; stores: Stores }): void {
  const [parent, file] = split(path);
  const folder = tryAt(held, parent);
  if (folder && isSameFile(stores.takenOver.at(name), folder.at(file))) stores.takenOver.unlink(name);
}

/** Empties the directories that files pass through. The agent needs nothing more in `saved`: what is there belongs to others. */
async function emptyStores(stores: Stores): Promise<void> {
  const { saved, staging } = stores;
  const pacer = new Pacer();
  for (const name of saved.rawNames()) {
    putAside(saved.rawPath(name), nameAside(name), stores);
    if (pacer.isDue) await pacer.rest();
  }
  for (const name of staging.rawNames()) {
    const path = staging.rawPath(name);
    // The agent makes no directories there.
    if (statOf(path)?.isDirectory()) putAside(path, nameAside(name), stores);
    else unlinkSync(path);
    if (pacer.isDue) await pacer.rest();
  }
}
