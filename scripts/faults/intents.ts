/** Deliveries within this time have no certain order (ms). */
export const APART_MS = 2_500;

/** A request for gateways to follow a ref. Times are in milliseconds. */
interface Intent {
  ref: string;
  startedAt: number;
  /** The latest time at which it was made, if at all; infinite until that is known. */
  endedAt: number;
  /** It is known to be stored. */
  isStored: boolean;
}

/** The refs that gateways of one resource may follow in the end: the newest stored one, or any that may be newer. */
export class Intents {
  #intents: Intent[];
  /** Refs that were equally possible when everything had settled: only the status shows which one was the last. */
  #equal: readonly string[] = [];

  constructor(ref: string) {
    this.#intents = [{ ref, startedAt: Number.NEGATIVE_INFINITY, endedAt: Number.NEGATIVE_INFINITY, isStored: true }];
  }

  /** Records that a ref is being requested. Until the result is known, it may take effect at any time. */
  begin(ref: string, startedAt: number) {
    const intent: Intent = { ref, startedAt, endedAt: Number.POSITIVE_INFINITY, isStored: false };
    this.#intents.push(intent);
    return {
      /** The response confirmed that it is stored. */
      stored: (at: number) => void Object.assign(intent, { endedAt: at, isStored: true }),
      /** Any other response: it may be stored all the same. */
      unknown: (at: number) => void Object.assign(intent, { endedAt: at }),
      /** It certainly changed nothing. */
      refused: () => {
        this.#intents = this.#intents.filter((other) => other !== intent);
      },
    };
  }

  /** Returns the refs of which one must be followed once everything has settled. */
  possible(): string[] {
    const isBeaten = (intent: Intent) =>
      this.#intents.some((other) => other.isStored && other.startedAt - intent.endedAt > APART_MS);
    return [...new Set(this.#intents.filter((intent) => !isBeaten(intent)).map(({ ref }) => ref))];
  }

  /** Records that everything has settled: the followed ref is the start of the next part. */
  settle(ref: string): void {
    this.#equal = this.possible();
    this.#intents = new Intents(ref).#intents;
  }

  /** Records that the status was wiped: `spec.git.ref`, or an equally possible ref, may be followed. */
  forgetOrder(specRef: string): void {
    this.#intents.push(...[...this.#equal, specRef].flatMap((ref) => new Intents(ref).#intents));
  }
}
