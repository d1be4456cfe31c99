/** Deliveries so close to each other cannot be told apart by anybody, in milliseconds. */
export const APART_MS = 2_500;

/** Somebody wants gateways on a ref. Times are in milliseconds. */
interface Intent {
  ref: string;
  startedAt: number;
  /** When it was certainly made, if it was at all: infinite while that cannot be known. */
  endedAt: number;
  /** Whether it is known to be stored. */
  isStored: boolean;
}

/** What is known of a request or an edit that is under way. */
export interface OpenIntent {
  /** It was answered as stored. */
  stored(at: number): void;
  /** It was answered otherwise: it may be stored all the same. */
  unknown(at: number): void;
  /** It is certain that it changed nothing. */
  refused(): void;
}

/** What the gateways of one resource may follow in the end: the newest that was stored, or what may be newer. */
export class Intents {
  #intents: Intent[];
  /** Refs that were equally possible when all had settled: only the status then shows which of them was the last one. */
  #equal: readonly string[] = [];

  constructor(ref: string) {
    this.#intents = [{ ref, startedAt: Number.NEGATIVE_INFINITY, endedAt: Number.NEGATIVE_INFINITY, isStored: true }];
  }

  /** Notes that somebody begins to ask for a ref. Until its end is known it may happen at any time. */
  begin(ref: string, startedAt: number): OpenIntent {
    const intent: Intent = { ref, startedAt, endedAt: Number.POSITIVE_INFINITY, isStored: false };
    this.#intents.push(intent);
    return {
      stored: (at) => Object.assign(intent, { endedAt: at, isStored: true }),
      unknown: (at) => {
        intent.endedAt = at;
      },
      refused: () => {
        this.#intents = this.#intents.filter((other) => other !== intent);
      },
    };
  }

  /** The refs one of which must be followed once everything has settled. */
  possible(): string[] {
    const isBeaten = (intent: Intent) =>
      this.#intents.some((other) => other.isStored && other.startedAt - intent.endedAt > APART_MS);
    return [...new Set(this.#intents.filter((intent) => !isBeaten(intent)).map(({ ref }) => ref))];
  }

  /** Everything has settled: what is followed now is the beginning of what comes. */
  settle(ref: string): void {
    this.#equal = this.possible();
    this.#intents = new Intents(ref).#intents;
  }

  /** The status was wiped. Times of edits are whole seconds, so an equally possible ref may be followed from now on. */
  forgetOrder(): void {
    this.#intents.push(...this.#equal.flatMap((ref) => new Intents(ref).#intents));
  }
}
