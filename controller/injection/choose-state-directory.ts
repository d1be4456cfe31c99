import { posix } from 'node:path';
import { AGENT_DIRECTORY, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import {
  hasAgentName,
  isFilePath,
  isTooLong,
  isWithin,
  joinPath,
  relativePath,
} from '../../shared/domain/files/relative-path.ts';
import { looksLikeFile, mountedParts } from '../../shared/domain/kubernetes/mounted-parts.ts';
import type { AdmittedPod, VolumeMount } from './admitted-pod.ts';
import { type Choice, denied } from './denied.ts';
import { mountsInside } from './mounts-inside.ts';

/**
 * Reads the annotation with the directory of the agent's own files, and checks the mounts of the pod against it:
 * `destinations` are links into this directory (`publish: atomic`). Returns its path in the volume; undefined for the
 * usual directory in the gateway's data.
 */
export function chooseStateDirectory(
  pod: AdmittedPod,
  mount: VolumeMount,
  destinations: string[] = [],
): Choice<{ path: string | undefined }> {
  const text = pod.metadata.annotations?.[POD_ANNOTATIONS.stateDirectory];
  const data = dataPathOf(mount) ?? '';
  const parsed = text === undefined ? undefined : relativePath(text);
  const problem =
    parsed && (parsed.kind === 'problem' ? parsed.message : (mountProblem(mount) ?? pathProblem(parsed.path, data)));
  if (problem !== undefined) return denied(`the annotation ${POD_ANNOTATIONS.stateDirectory}: ${problem}`);
  const path = parsed?.kind === 'path' ? parsed.path : undefined;
  const state = path ?? joinPath(data, AGENT_DIRECTORY);
  const isUsed = path !== undefined || destinations.length > 0;
  const conflict =
    destinationProblem(path, data, destinations) ??
    (isUsed ? coverProblem(pod, mount, state) : undefined) ??
    partProblem(pod, mount, { state: posix.relative(`/${data}`, `/${state}`), destinations });
  return conflict === undefined ? { kind: 'chosen', path } : denied(conflict, 'resource');
}

/** Returns the path of the gateway's data in the volume; undefined for all of it. */
export function dataPathOf({ subPath = '' }: VolumeMount): string | undefined {
  return posix.normalize(`/${subPath}/`).slice(1, -1) || undefined;
}

/** The agent would create the mounted file as a directory, or couldn't open it. */
const mountProblem = (mount: VolumeMount): string | undefined =>
  looksLikeFile(mount)
    ? `the gateway must mount a directory, but ${mount.subPath?.slice(0, 80)} looks like a file; mount its directory instead, or, if it is a directory, end subPath with a slash`
    : undefined;

/** Invisible characters, and spaces at the start or the end of a name. */
const UNCLEAR = /[\p{C}\p{Zl}\p{Zp}]|(^|\/)\s|\s(\/|$)/u;

function pathProblem(path: string, data: string): string | undefined {
  if (path === '') return 'the root of the volume is too general; specify a directory in it, such as sync-state';
  if (!isFilePath(path) || isTooLong(path)) return `${path.slice(0, 80)} is too long, or in .git; specify another path`;
  if (UNCLEAR.test(path))
    return 'a name in it starts or ends with a space, or contains control or format characters; remove them';
  if (hasAgentName(path)) return `${path} contains the reserved name ${AGENT_DIRECTORY}; specify another name`;
  return isWithin(data, path)
    ? `${path} contains the gateway's data; specify a directory next to it, or in it`
    : undefined;
}

/** Splits off the slash after a directory that contains a destination with templates. */
function knownPart(destination: string): { known: string; isWhole: boolean } {
  const isWhole = !destination.endsWith('/');
  return { known: isWhole ? destination : destination.slice(0, -1), isWhole };
}

/** Links must not replace the directory, and must lead into it wherever the gateway mounts its data. */
function destinationProblem(path: string | undefined, data: string, destinations: string[]): string | undefined {
  if (path === undefined) return undefined;
  for (const { known, isWhole } of destinations.map(knownPart)) {
    const link = joinPath(data, known);
    if ((isWhole && isWithin(path, link)) || isWithin(link, path))
      return `the annotation ${POD_ANNOTATIONS.stateDirectory} specifies ${path}, but a mapping of the profile delivers to ${link.slice(0, 80)} (publish is atomic); specify a directory outside of it`;
    if (!isWithin(path, data))
      return `the annotation ${POD_ANNOTATIONS.stateDirectory} specifies ${path}, which is outside of ${data}, the part of the volume that the gateway mounts, so it could not follow the link ${isWhole ? 'at' : 'in'} ${known.slice(0, 80)} (publish is atomic); specify a directory in ${data}, or mount the whole volume`;
  }
  return undefined;
}

/** Other volumes must not cover the directory where the gateway's data is visible, not even before links lead to it. */
function coverProblem(pod: AdmittedPod, mount: VolumeMount, state: string): string | undefined {
  const data = dataPathOf(mount) ?? '';
  const cover = mountsInside(pod, { ...mount, subPath: undefined }).find(
    (path) => !isWithin(data, path) && (isWithin(state, path) || isWithin(path, state)),
  );
  return cover === undefined
    ? undefined
    : `the agent's directory ${state.slice(0, 80)} is at, above, or below ${cover.slice(0, 80)}, where the pod mounts another volume; specify a different directory in the annotation ${POD_ANNOTATIONS.stateDirectory}`;
}

interface Links {
  /** Path of the directory in the gateway's data. */
  state: string;
  destinations: string[];
}

/** Returns the problem of a mount with `subPath` that is bound to one tree, or has a link without the trees. */
function partProblem({ spec }: AdmittedPod, mount: VolumeMount, { state, destinations }: Links): string | undefined {
  const parts = mountedParts(spec, mount);
  for (const { known, isWhole } of destinations.map(knownPart)) {
    const part = parts.find(
      ({ path }) => (isWhole && isWithin(path, known)) || (isWithin(known, path) && !isWithin(state, path)),
    );
    if (part)
      return `container ${part.container} mounts ${part.path.slice(0, 80)} of volume ${mount.name} with subPath, but a mapping of the profile replaces ${isWhole ? '' : 'a directory in '}${known.slice(0, 80)} as a whole (publish is atomic), which such a mount never shows; mount the whole volume`;
  }
  return undefined;
}
