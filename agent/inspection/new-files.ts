import { opendirSync } from 'node:fs';
import type { Answer, InspectedChange } from '../../shared/api/inspection.ts';
import { hasAgentName, isGitPath, isTooLong, isWithin, joinPath } from '../../shared/domain/files/relative-path.ts';
import { type RenderedMapping, sourceBelow } from '../../shared/domain/files/render-mappings.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { TerminalError } from '../../shared/errors.ts';
import { Pacer } from '../../shared/io/pacer.ts';
import { isForbidden } from '../disk/hash-file.ts';
import { statOf } from '../disk/seen-file.ts';
import { type Manifest, mappedPathOf } from '../plan/manifest.ts';
import { intentOf } from '../resource/judge-resource.ts';
import { viewProfile } from '../resource/stored-syncs.ts';
import { aimOf, recipeOf } from '../sync/sync-aim.ts';
import { type DataRoot, unlessAbsent } from '../volume/state/data-root.ts';
import { isPrivate } from './contents.ts';
import { type InspectionScope, noProfile, notComplete } from './inspection-scope.ts';
import { looksSecret } from './shown-text.ts';

/** Maximum entries that are listed to find new files. */
const MAX_ENTRIES = 50_000;

/** Finds files in delivered directories that the agent didn't deliver, those nearest to the root first. */
export async function findNewFiles(limit: number, scope: InspectionScope): Promise<Pick<Answer, 'changes' | 'more'>> {
  const { root, manifestFile } = scope.dependencies;
  const { files } = await manifestFile.read();
  const changes: InspectedChange[] = [];
  let more = 0;
  const mappings = await deliveredMappings(scope);
  const directories = mappings.map(({ destination }) => destination);
  const onEnd = () => {
    more += 1;
  };
  for await (const path of filesBelow(directories, scope, onEnd)) {
    if (files.has(path)) continue;
    const stats = changes.length < limit ? root.lookInside(path, statOf) : undefined;
    if (stats?.isFile()) changes.push(newFile(path, stats, mappings));
    else if (changes.length >= limit) more += 1;
  }
  return { changes, more };
}

function newFile(path: string, { mode }: { mode: number }, mappings: readonly RenderedMapping[]): InspectedChange {
  const isSecret = looksSecret(path) || isPrivate({ mode }) || isSecretTo(mappings, path);
  return withoutUndefined({
    path,
    kind: 'add' as const,
    reason: 'New',
    after: { executable: (mode & 0o100) !== 0 },
    leftOut: isSecret ? ('secret' as const) : undefined,
  });
}

/**
 * Returns the mappings from which the agent has delivered a directory. A mapping of the current spec alone isn't enough:
 * otherwise, it could be pointed at any file of the volume to read it without a sync. Throws if the last sync had other
 * settings.
 */
export async function deliveredMappings({
  resource,
  dependencies,
  signal,
}: InspectionScope): Promise<RenderedMapping[]> {
  const { identity, manifestFile } = dependencies;
  const applied = await manifestFile.readApplied();
  if (!applied) throw notComplete();
  const { profile, names } = viewProfile(resource.spec.sync, identity.profile);
  if (!profile) throw noProfile(identity.profile, names);
  const aim = await aimOf(intentOf(resource, profile, applied), dependencies, signal);
  if (recipeOf(aim, dependencies) !== applied.recipe) throw notSynced();
  return aim.mappings.filter((mapping) => isDelivered(mapping, aim.manifest));
}

const notSynced = () =>
  new TerminalError('spec.sync has changed since the last sync of this gateway: wait for the next one', {
    code: 'inspection.notSynced',
    reason: 'NotComplete',
  });

/** Checks whether the file would be a secret in the repository, or on gateways. */
export const isSecretTo = (mappings: readonly RenderedMapping[], path: string): boolean =>
  mappings.some((mapping) => {
    const source = sourceBelow(mapping, path);
    return source !== undefined && (looksSecret(source) || isPrivate(mapping));
  });

function isDelivered({ source, destination }: RenderedMapping, { files }: Manifest): boolean {
  const isBelow = (path: string, directory: string) => path !== directory && isWithin(path, directory);
  for (const record of files.values()) {
    if (!record.found && isBelow(record.path, destination) && isBelow(mappedPathOf(record), source)) return true;
  }
  return false;
}

/** Checks whether the path is one of git or the agent, whose content is never shown. */
export const isReserved = (path: string, { state }: DataRoot): boolean =>
  isGitPath(path) || hasAgentName(path) || (state.reserved !== undefined && isWithin(path, state.reserved));

/**
 * Lists the files below directories, breadth first, and opens each directory without following links. `onEnd` is called
 * if there are too many entries to list them all.
 */
async function* filesBelow(
  directories: readonly string[],
  scope: InspectionScope,
  onEnd: () => void,
): AsyncGenerator<string> {
  const { root } = scope.dependencies;
  const pacer = new Pacer();
  const queue = directories.filter((path) => !directories.some((other) => path !== other && isWithin(path, other)));
  const seen = new Set(queue);
  let entries = 0;
  for (const directory of seen) {
    using handle = openForList(root, directory);
    for (let entry = handle?.readSync(); entry && entries < MAX_ENTRIES; entry = handle?.readSync()) {
      entries += 1;
      if (pacer.isDue) await pacer.rest();
      scope.signal.throwIfAborted();
      const path = joinPath(directory, entry.name);
      if (entry.name.includes('\uFFFD') || isTooLong(path) || isReserved(path, root)) continue;
      if (entry.isDirectory()) seen.add(path);
      else if (entry.isFile()) yield path;
    }
    if (entries >= MAX_ENTRIES) break;
  }
  if (entries >= MAX_ENTRIES) onEnd();
}

function openForList(root: DataRoot, path: string) {
  try {
    return unlessAbsent(() => {
      using directory = root.openDirectory(root.pathOnDisk(path));
      return opendirSync(directory.at('.'));
    });
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
