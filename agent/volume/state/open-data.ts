import { POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { codeOf, TerminalError } from '../../../shared/errors.ts';
import type { Directory } from '../../disk/directory.ts';
import { makeBelow } from './agent-directory.ts';

/**
 * Opens the directory that the gateway mounts, by its path in the volume. If necessary, creates it like the kubelet for a
 * subPath, which can do so only after this agent has started. Throws {@link TerminalError}.
 */
export function openData(volume: Directory, path: string): Directory {
  try {
    return makeBelow(volume, path, volume.permissions);
  } catch (error) {
    const reason = REASONS[codeOf(error)];
    throw reason === undefined ? error : unusable(`${path} in the data volume ${reason}`, error);
  }
}

const NOT_ALLOWED =
  "can't be created or opened by the agent's user: create this directory for that user, or set fsGroup in the pod's securityContext";

/** Reasons by the error's code. */
const REASONS: Partial<Record<string, string>> = {
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  ENOTDIR: `isn't a directory: mount a directory in the gateway, or remove the pod annotation ${POD_ANNOTATIONS.stateDirectory}`,
  'data.symbolicLink': `leads through a symbolic link, which the agent doesn't follow: specify the directory behind the link in the gateway's subPath, or remove the pod annotation ${POD_ANNOTATIONS.stateDirectory}`,
};

const unusable = (message: string, cause: unknown) =>
  new TerminalError(message, { code: 'data.unusable', reason: 'VolumeUnusable', cause });
