import { POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { shellWord } from '../../../shared/domain/text/shell-quote.ts';
import { TerminalError, WaitingError } from '../../../shared/errors.ts';

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

/** The code of a volume whose files aren't where the pod's annotation says. */
export const STATE_ELSEWHERE = 'data.stateElsewhere';

/** Where the directory is, and where the pod's annotation wants it. */
interface StatePlaces {
  data: string;
  usual: string;
  place: string;
}

export const stateInData = (places: StatePlaces) =>
  stateError(
    STATE_ELSEWHERE,
    `the agent's files are already in ${places.usual}: remove ${ANNOTATION}, or move them while no pod uses the volume, with these commands in its root: ${movingCommands(places)}`,
  );

/**
 * Shell commands that move the directory out of the data, and lead the links at atomic destinations to its new place. An
 * agent continues after any of them.
 */
function movingCommands({ data, usual, place }: StatePlaces): string {
  const [at, from, to] = [data || '.', usual, place].map(pathWord);
  const moved = [
    `ln -sfn ${shellWord(`data-root=${data || '.'}`)} ${from}/data-root`,
    `mv -T ${from} ${to}`,
    `ln -sfn ${shellWord(`${POD_ANNOTATIONS.stateDirectory}=${place}`)} ${from}`,
  ];
  const relinked = `find ${at} -type l -lname '*.sync-agent/trees/*' -exec sh -c 'ln -sfnr "$0/trees/$(basename "$(readlink "$1")")" "$1"' ${to} {} ';'`;
  return [...moved, relinked].join(' && ');
}

/** Quotes a path for a shell, which doesn't take it for an option. */
const pathWord = (path: string): string => shellWord(path.startsWith('-') ? `./${path}` : path);

export const stateElsewhere = (state: string, usual: string) =>
  stateError(
    STATE_ELSEWHERE,
    `the agent's files are in another directory of the volume: set ${ANNOTATION} to ${quoted(state)}, or remove ${usual} and that directory to start without a record of the delivered files, but move your files out of its subdirectory taken-over and remove the links at atomic destinations before`,
  );

export const foreign = (path: string, owner: string | undefined) =>
  stateError(
    'data.stateForeign',
    owner === undefined
      ? `${path} has files that aren't the agent's: specify another directory in ${ANNOTATION}`
      : `${path} belongs to the data in ${owner === '.' ? 'the root' : quoted(owner)} of the volume: specify another directory in ${ANNOTATION}, or remove ${path}/data-root if that data was moved here`,
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
