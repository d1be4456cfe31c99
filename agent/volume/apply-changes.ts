import type { TemplateValues } from '../../shared/domain/render-template.ts';
import type { Logger } from '../../shared/log.ts';
import type { ContentReader } from '../content/content-reader.ts';
import type { Applied, OwnedFile } from '../plan/manifest.ts';
import { updateAfter, updateBefore, updateRecords } from '../plan/next-manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { DataRoot } from './data-root.ts';
import type { ManifestFile } from './manifest-file.ts';
import { FileMover, UndoLog } from './move-files.ts';
import { stageFiles } from './stage-files.ts';

export interface Target {
  root: DataRoot;
  manifestFile: ManifestFile;
  openContents: () => ContentReader;
  values: TemplateValues;
  log: Logger;
}

/**
 * Brings the plan about. Everything is written beside its place first; then the manifest says what will be the
 * agent's; then files move. A kill at any moment leaves a state from which the next plan leads to the same end, and an
 * error takes back what was done.
 */
export async function applyChanges(plan: Plan, target: Target, applied: Applied): Promise<void> {
  const { root, manifestFile, log } = target;
  if (isBookkeeping(plan)) return await manifestFile.append(updateRecords(plan, applied));
  const staged = await stageAll(plan, target);
  const update = updateBefore(plan, await manifestFile.read(), staged);
  const undo = new UndoLog();
  try {
    await manifestFile.append(update);
    undo.push(() => manifestFile.takeBack());
    const paths = staged.map(({ path }) => path);
    await moveFiles(plan, paths, new FileMover(root, undo));
    await manifestFile.append(updateAfter(plan, applied));
  } catch (error) {
    const errors = await undo.run();
    log.warn({ undone: errors.length === 0, errors: errors.map(String).slice(0, 5) }, 'changes taken back');
    throw error;
  }
  // What was replaced lies there still; the next sync would find it, too.
  await root.emptyStaging().catch((error) => log.warn({ err: error }, 'staging folder not emptied'));
}

async function moveFiles(plan: Plan, staged: string[], mover: FileMover): Promise<void> {
  const { changes, folders } = plan;
  const deletes = changes.filter((change) => change.kind === 'delete');
  await mover.remove(deletes.flatMap(({ path, inTheWay }) => (inTheWay ? [path] : [])));
  await mover.removeFolders(folders.clear);
  await mover.makeFolders(folders.create);
  await mover.place(staged);
  await mover.remove(deletes.flatMap(({ path, inTheWay }) => (inTheWay ? [] : [path])));
  await mover.removeFolders(folders.prune);
}

/** Whether nothing happens but in the manifest. */
function isBookkeeping({ changes, folders }: Plan): boolean {
  return changes.length === 0 && folders.clear.length === 0 && folders.prune.length === 0;
}

async function stageAll(plan: Plan, { root, openContents, values }: Target): Promise<OwnedFile[]> {
  const files = plan.changes.flatMap((change) => (change.kind === 'delete' ? [] : [change.file]));
  const folder = await root.emptyStaging();
  if (files.length === 0) return [];
  const contents = openContents();
  try {
    return await stageFiles(files, { folder, contents, values });
  } catch (error) {
    // A full disk is not to stay full because of what was not delivered.
    await root.emptyStaging().catch(() => {});
    throw error;
  } finally {
    await contents.close();
  }
}
