import { linkHash } from '../plan/links/kept-link.ts';
import type { Manifest, OwnedFile } from '../plan/manifest.ts';
import type { DesiredFile, PreviewedContents } from '../plan/plan-input.ts';
import { treeRoots } from '../plan/trees.ts';
import { determineContents, layOut } from '../sync/plan-sync.ts';
import { recipeOf, type SyncAim } from '../sync/sync-aim.ts';
import type { SyncDependencies } from '../sync/sync-dependencies.ts';

/** Returns the manifest that the volume will have after a sync of a release. */
export async function manifestAfter(aim: SyncAim, dependencies: SyncDependencies): Promise<Manifest> {
  const { intent, mappings } = aim;
  const { desired } = await layOut(aim, dependencies);
  const rendered = [...desired.files.values()].filter(({ template, patches }) => template || patches);
  const contents = await determineContents(rendered, aim, dependencies);
  const files = new Map<string, OwnedFile>();
  for (const file of desired.files.values()) files.set(file.path, recordOf(file, contents, aim));
  const { ref, commit } = intent;
  return {
    applied: { ref, commit, time: '', recipe: recipeOf(aim, dependencies) },
    files,
    directories: desired.directories,
    trees: new Map(treeRoots(mappings).map((path) => [path, { tree: commit }])),
    journal: undefined,
  };
}

/** The hash of files that aren't rendered is unknown: their content has git's ID. */
function recordOf(file: DesiredFile, contents: PreviewedContents, { intent }: SyncAim): OwnedFile {
  const { path, source, link, blob, executable, mode, lfs, patches, linkText } = file;
  const { sha256 = '', inputs } = contents.get(path) ?? {};
  if (linkText !== undefined)
    return { path, source, blob, symlink: true, sha256: linkHash(linkText), executable, fingerprint: NO_FINGERPRINT };
  const { groupWrite } = intent.profile;
  const settings = { link, mode, inputs, patches: patches?.hash, lfs: Boolean(lfs), groupWrite };
  return { path, source, blob, sha256, executable, fingerprint: NO_FINGERPRINT, ...settings };
}

const NO_FINGERPRINT = { size: 0, mtimeMs: 0, ino: 0 };
