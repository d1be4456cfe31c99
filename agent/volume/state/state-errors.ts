import { POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { shellWord } from '../../../shared/domain/text/shell-quote.ts';
import { TerminalError, WaitingError } from '../../../shared/errors.ts';

/** Delay until an agent tries again, after another one has changed the directory (ms). */
const RETRY_MS = 5_000;

const ANNOTATION = `the pod annotation ${POD_ANNOTATIONS.stateDirectory}`;

const stateError = (code: string, message: string) => new TerminalError(message, { code, reason: 'VolumeUnusable' });

/** Maximum quoted characters of a link. */
const MAX_QUOTED = 200;

/** Quotes the text of a link, which the gateway can write, unless it is a plain path. */
const quoted = (text: string): string =>
  text.length <= MAX_QUOTED && /^[\w./-]+$/.test(text)
    ? text
    : JSON.stringify(text.slice(0, MAX_QUOTED).replace(/\p{C}/gu, '?'));

/** The code of a complete record that is still in the data, although the pod's annotation names another place. */
export const STATE_IN_DATA = 'data.stateInData';

/** Where the directory is, and where the pod's annotation wants it. */
interface StatePlaces {
  data: string;
  usual: string;
  place: string;
  /** Whether a sync has completed there, and none was interrupted: otherwise, the gateway must wait. */
  isComplete: boolean;
}

export const stateInData = (places: StatePlaces) =>
  stateError(
    places.isComplete ? STATE_IN_DATA : 'data.stateElsewhere',
    `the agent's files are already in ${places.usual}: remove ${ANNOTATION}, or move them while no pod uses the volume, ${howToMove(places)}`,
  );

/** Reports are cut off, and a part of a command could do harm. */
const MAX_COMMANDS = 800;

function howToMove(places: StatePlaces): string {
  const commands = movingCommands(places);
  return commands.length > MAX_COMMANDS
    ? `as the page about volumes describes under "Move the state directory"`
    : `with these commands in its root: ${commands}`;
}

/**
 * Shell commands that move the directory out of the data, and lead the links at atomic destinations to its new place. If
 * they are interrupted, an agent reports the same error or continues, and only such links need the last command.
 */
function movingCommands({ data, usual, place }: StatePlaces): string {
  const [at, from, to, above] = [data || '.', usual, place, splitPath(place)[0] || '.'].map(pathWord);
  const moved = [
    // The gateway can put links there until it ends.
    `test "$(realpath -m ${from} ${to})" = "$(realpath -ms ${from} ${to})"`,
    `mkdir -p ${above}`,
    `ln -sfnT ${shellWord(`data-root=${data || '.'}`)} ${from}/data-root`,
    `mv -T ${from} ${to}`,
    `ln -sfnT ${shellWord(`${POD_ANNOTATIONS.stateDirectory}=${place}`)} ${from}`,
  ];
  // Other data in it has other trees.
  const relinked = `find ${at} -type l -lname '*.sync-agent/trees/*' -exec sh -c 't="$0/trees/$(basename "$(readlink "$1")")"; [ ! -d "$t" ] || ln -sfnrT "$t" "$1"' ${to} {} ';'`;
  return [...moved, relinked].join(' && ');
}

/** Quotes a path for a shell, which doesn't take it for an option. */
const pathWord = (path: string): string => shellWord(/^[-!(]/.test(path) ? `./${path}` : path);

export const stateElsewhere = (state: string, usual: string) =>
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

export const noLinks = () =>
  stateError(
    'data.stateNoLinks',
    `${ANNOTATION} requires symbolic links, and this volume doesn't support them: remove the annotation`,
  );

export const replaced = (path: string) =>
  new WaitingError(`another agent has just created ${path}; trying again`, {
    code: 'data.inUse',
    reason: 'VolumeInUse',
    retryAfterMs: RETRY_MS,
  });
