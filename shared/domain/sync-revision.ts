import { createHash } from 'node:crypto';

/**
 * The revision of `spec.sync`, or of whatever claims to be one: 32 hex digits of the SHA-256 of its JSON with sorted
 * keys. `paused` and `dryRun` of the defaults and of the profiles are no part of it, since they count at once for every
 * gateway. Takes any JSON, however deep; apart from the sorting of keys, the time grows with its length.
 */
export const syncRevision = (sync: unknown): string => hashOf(withoutSwitches(sync)).slice(0, 32);

/** Whether a text has the shape of a revision. */
export const isRevision = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

/** Name of the ControllerRevision (apps/v1) that holds a revision of `spec.sync`, as `sync` in its `data`. */
export const revisionName = (crName: string, revision: string): string => `${crName}-sync-${revision}`;

type JsonObject = Record<string, unknown>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function withoutSwitches(sync: unknown): unknown {
  if (!isObject(sync)) return sync;
  const { defaults, profiles, ...rest } = sync;
  return { ...rest, defaults: settingsOf(defaults), profiles: isObject(profiles) ? allSettingsOf(profiles) : profiles };
}

const allSettingsOf = (profiles: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(profiles).map(([name, profile]) => [name, settingsOf(profile)]));

function settingsOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { paused: _, dryRun: __, ...rest } = value;
  return rest;
}

/** Characters that are hashed in one go. */
const CHUNK = 65_536;

/** Objects and lists that are being written. */
interface Frame {
  keys: string[] | undefined;
  values: unknown[];
  written: number;
}

/** Hashes canonical JSON piece by piece. No recursion: what is nested deeply must not exhaust the stack. */
function hashOf(root: unknown): string {
  const hash = createHash('sha256');
  const frames: Frame[] = [{ keys: undefined, values: [root], written: 0 }];
  let text = '';
  for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
    const { keys, values, written } = frame;
    if (written === values.length) {
      frames.pop();
      if (frames.length > 0) text += keys ? '}' : ']';
      continue;
    }
    frame.written += 1;
    const value = values[written] ?? null;
    text += `${written > 0 ? ',' : ''}${keys ? `${JSON.stringify(keys[written])}:` : ''}`;
    if (typeof value === 'object' && value !== null) {
      text += Array.isArray(value) ? '[' : '{';
      frames.push(frameOf(value));
    } else text += JSON.stringify(value);
    if (text.length < CHUNK) continue;
    hash.update(text);
    text = '';
  }
  return hash.update(text).digest('hex');
}

/** What is undefined is left out, as in JSON. */
function frameOf(value: object): Frame {
  if (Array.isArray(value)) return { keys: undefined, values: value, written: 0 };
  const given = value as JsonObject;
  const keys = Object.keys(given)
    .filter((key) => given[key] !== undefined)
    .sort();
  return { keys, values: keys.map((key) => given[key]), written: 0 };
}
