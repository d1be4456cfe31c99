import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { TerminalError, WaitingError } from '../../shared/errors.ts';

/** Delay until an agent tries again, after another one has changed the directory (ms). */
const RETRY_MS = 5_000;

const ANNOTATION = `the pod annotation ${POD_ANNOTATIONS.stateDirectory}`;

const stateError = (code: string, message: string, cause?: unknown) =>
  new TerminalError(message, { code, reason: 'VolumeUnusable', cause });

/** Maximum quoted characters of a link. */
const MAX_QUOTED = 200;

/** Quotes the text of a link, which the gateway can write, unless it is a plain path. */
const quoted = (text: string): string =>
  text.length <= MAX_QUOTED && /^[\w./-]+$/.test(text)
    ? text
    : JSON.stringify(text.slice(0, MAX_QUOTED).replace(/\p{C}/gu, '?'));

export const elsewhere = (state: string, usual: string) =>
  stateError(
    'data.stateElsewhere',
    `the agent's files are in another directory of the volume: set ${ANNOTATION} to ${quoted(state)}, or remove ${usual} and that directory to start without a record of the delivered files, but move your files out of its subdirectory taken-over and remove the links at atomic destinations before`,
  );

export const foreign = (path: string, owner: string | undefined) =>
  stateError(
    'data.stateForeign',
    owner === undefined
      ? `${path} has files that aren't the agent's: specify another directory in ${ANNOTATION}`
      : `${path} belongs to the data in ${owner === '.' ? 'the root' : quoted(owner)} of the volume: specify another directory in ${ANNOTATION}, or remove ${path}/data-root if that data was moved here`,
  );

export const occupied = (path: string, usual: string) =>
  stateError(
    'data.stateOccupied',
    `${usual} can't be moved to ${path}, because something exists there: remove it, or specify another directory in ${ANNOTATION}`,
  );

export const twoRecords = (path: string, usual: string) =>
  stateError(
    'data.stateTwice',
    `both ${path} and ${usual} list files that were delivered to this data; ${usual} is usually newer, and doesn't list the earlier files: remove one of them, but move your files out of its subdirectory taken-over before`,
  );

export const noLinks = (cause: unknown) =>
  stateError(
    'data.stateNoLinks',
    `${ANNOTATION} requires symbolic links, and this volume doesn't support them: remove the annotation`,
    cause,
  );

export const replaced = (path: string) =>
  new WaitingError(`another agent has just created ${path}; trying again`, {
    code: 'data.inUse',
    reason: 'VolumeInUse',
    retryAfterMs: RETRY_MS,
  });
