import { writeFileSync } from 'node:fs';
import * as v from 'valibot';
import type { Directory } from '../../disk/directory.ts';
import { readText } from '../../disk/read-text.ts';

const NAME = 'owner.json';
const MAX_BYTES = 4096;

const ownerSchema = v.object({ podUid: v.string(), pod: v.string(), node: v.optional(v.string()) });

/** The agent that owns the volume, as named in `.sync-agent/owner.json`. */
export type Owner = v.InferOutput<typeof ownerSchema>;

/** Reads the file that names the owner; undefined if it is missing or invalid. */
export function readOwner(directory: Directory): Owner | undefined {
  const text = readText(directory.at(NAME), MAX_BYTES);
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ownerSchema), text, { abortEarly: true });
  return parsed.success ? parsed.output : undefined;
}

/** Replaces any existing file. */
export function writeOwner(directory: Directory, owner: Owner): void {
  directory.makeRoom(NAME);
  // Created, never opened, so that a link in its place has no effect.
  writeFileSync(directory.at(NAME), `${JSON.stringify(owner)}\n`, { flag: 'wx', mode: 0o600 });
}

export const removeOwner = (directory: Directory): void => void directory.unlink(NAME);
