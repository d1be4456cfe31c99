import { closeSync, openSync, writeSync } from 'node:fs';
import * as v from 'valibot';
import { readText } from '../../shared/io/read-text.ts';
import { inFolder, type OwnFolder, removeOwn } from './own-folder.ts';
import type { VerificationResult } from './verification.ts';

const NAME = 'verification';
const MAX_BYTES = 16 * 1024;
const MAX_WORDS = 1024;

const resultSchema = v.object({
  subject: v.object({
    commit: v.string(),
    rollout: v.optional(v.number()),
    revision: v.optional(v.string()),
    settings: v.string(),
  }),
  generation: v.number(),
  state: v.picklist(['Passed', 'Failed']),
  words: v.optional(v.pipe(v.string(), v.maxLength(MAX_WORDS))),
});

/**
 * How the last verification ended, in a file next to the manifest, so that it outlives the agent. What is damaged or cut
 * off says nothing: the gateway is then looked at again.
 */
export class VerificationFile {
  readonly #openFolder: () => OwnFolder;
  readonly #checkOwner: () => void;

  /** `checkOwner` throws where the volume is another agent's by now. */
  constructor(openFolder: () => OwnFolder, checkOwner: () => void) {
    this.#openFolder = openFolder;
    this.#checkOwner = checkOwner;
  }

  read(): VerificationResult | undefined {
    const text = inFolder(this.#openFolder, (folder) => readText(folder.at(NAME), MAX_BYTES));
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), resultSchema), text, { abortEarly: true });
    return parsed.success ? parsed.output : undefined;
  }

  write(result: VerificationResult): void {
    this.#checkOwner();
    const text = JSON.stringify({ ...result, words: result.words?.slice(0, MAX_WORDS) });
    inFolder(this.#openFolder, (folder) => {
      removeOwn(folder, NAME);
      // Made again, never opened: a link in its place leads nowhere.
      const descriptor = openSync(folder.at(NAME), 'wx', 0o600);
      try {
        writeSync(descriptor, text);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  remove(): void {
    this.#checkOwner();
    inFolder(this.#openFolder, (folder) => removeOwn(folder, NAME));
  }
}
