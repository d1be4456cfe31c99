import * as v from 'valibot';
import type { OwnFile } from './own-file.ts';
import type { VerificationResult } from './verification.ts';

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
  state: v.picklist(['Passed', 'Failed', 'Unchanged']),
  words: v.optional(v.pipe(v.string(), v.maxLength(MAX_WORDS))),
});

/**
 * The result of the last verification, in a file next to the manifest. If the file is damaged or truncated, the gateway
 * is verified again.
 */
export class VerificationFile {
  readonly #file: OwnFile;

  constructor(file: OwnFile) {
    this.#file = file;
  }

  read(): VerificationResult | undefined {
    const schema = v.pipe(v.string(), v.parseJson(), resultSchema);
    const parsed = v.safeParse(schema, this.#file.read(MAX_BYTES), { abortEarly: true });
    return parsed.success ? parsed.output : undefined;
  }

  write(result: VerificationResult): void {
    this.#file.write(JSON.stringify({ ...result, words: result.words?.slice(0, MAX_WORDS) }), 0o600);
  }

  remove(): void {
    this.#file.remove();
  }
}
