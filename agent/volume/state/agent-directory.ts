import { codeOf, TerminalError } from '../../../shared/errors.ts';
import type { Directory } from '../../disk/directory.ts';

/** Opens a directory with the agent's files, and creates it if necessary. */
export function openOwn(parent: Directory, name: string, permissions: number): Directory {
  try {
    return makeIn(parent, name, permissions);
  } catch (cause) {
    throw ownDirectoryError(cause, parent.pathOf(name));
  }
}

function makeIn(parent: Directory, name: string, permissions: number): Directory {
  const isNew = parent.make(name, permissions);
  const directory = parent.open(name);
  if (isNew) directory.permit(permissions);
  return directory;
}

/** Returns the error for another kind of entry in the place of a directory with the agent's files, or the given error. */
export const ownDirectoryError = (error: unknown, path: string): unknown =>
  NO_DIRECTORY.has(codeOf(error)) ? noAgentDirectory(path, error) : error;

/** Codes that prove that the entry is of another kind; other errors don't. */
const NO_DIRECTORY = new Set(['ENOTDIR', 'data.symbolicLink']);

/** An error for another kind of entry in the place of a directory with the agent's files. */
export const noAgentDirectory = (path: string, cause?: unknown) =>
  new TerminalError(`${path} must be a directory because it holds the agent's files: remove it`, {
    code: 'data.agentFolder',
    reason: 'PathConflict',
    cause,
  });

/** Opens a directory by its path below another one, and creates missing levels. Throws {@link TerminalError} for a link. */
export const makeBelow = (above: Directory, path: string, permissions = 0o755): Directory =>
  above.openBelow(path, (parent, name) => makeIn(parent, name, permissions));
