import path from 'node:path/posix';
import { isWithin } from '../../shared/domain/files/relative-path.ts';
import { mountedParts } from '../../shared/domain/kubernetes/mounted-parts.ts';
import type { PodSpec } from './manifest.ts';
import type { Notes, Source } from './source.ts';

export interface Mapping {
  source: string;
  destination: string;
  publish?: 'atomic';
}

export interface KeptLink {
  mapping: Mapping;
  /** Value of the annotation with the directory of the agent's own files, if the pod needs one. */
  stateDirectory?: string;
}

/** Name of the agent's directory in a part of the volume that containers mount. */
const STATE_DIRECTORY = '.sync-state';

/** Keeps the link of git-sync, which changes all files at once, if the mounts of the other containers allow that. */
export function keepLink(
  mapping: Mapping,
  root: string,
  { source, spec, notes }: { source: Source; spec: PodSpec; notes: Notes },
): KeptLink {
  const { place, groupWrite, gateway } = source;
  const touchFile = gateway?.reload?.touchFile;
  const { destination } = mapping;
  if (!source.hasLink) return { mapping };
  const parts = mountedParts(spec, { name: place.volume, subPath: root });
  if (destination === '.' || parts.some((part) => isWithin(part.path, destination))) {
    notes.differs(
      `files change one at a time, because the application mounts them with subPath: to change all files at once, mount the whole volume ${place.volume}, and add publish: atomic to the mapping`,
    );
    return { mapping };
  }
  if (touchFile !== undefined && isWithin(path.relative(`/${root}`, `/${touchFile}`), destination)) {
    notes.differs('files change one at a time, because --touch-file is one of them');
    return { mapping };
  }
  if (groupWrite)
    notes.todo(
      'the delivered directories are read-only, so the group can write to files, but not create or remove any: if the application does that, remove publish from the mapping',
    );
  const around = parts.map((part) => part.path).filter((part) => isWithin(destination, part));
  const inner = around.sort((a, b) => b.length - a.length)[0];
  const stateDirectory = inner === undefined ? undefined : stateIn(inner, destination);
  return {
    mapping: { ...mapping, publish: 'atomic' },
    ...(stateDirectory !== undefined && { stateDirectory: path.join(root, stateDirectory) }),
  };
}

/** Chooses a path that doesn't contain the destination. */
function stateIn(part: string, destination: string): string {
  const usual = path.join(part, STATE_DIRECTORY);
  return isWithin(destination, usual) ? `${usual}-2` : usual;
}
