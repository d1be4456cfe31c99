/** Who waits for a review. */
export interface Caller {
  /** The network that the request comes from. */
  address: string;
  /** Whether nobody waits for the answer any more. */
  isGone: () => boolean;
}

interface Waiting {
  isGone: () => boolean;
  /** Called with whether it has a slot now. */
  settle: (isAdmitted: boolean) => void;
}

/** Callers that wait, in all and of one address. */
const MOST_WAITING = { all: 64, address: 16 };

/**
 * Lets a number of callers in at a time. Few others wait, and their addresses take turns: who floods waits for
 * their own turn, and takes no memory.
 */
export class ReviewQueue {
  /** By address, in the order of their turns; none is empty. */
  readonly #lanes = new Map<string, Waiting[]>();
  #waiting = 0;
  #free: number;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Runs the function as soon as there is a slot; undefined where too many wait, or the caller has gone. */
  async run<T>({ address, isGone }: Caller, use: () => Promise<T>): Promise<T | undefined> {
    if (this.#free > 0) this.#free -= 1;
    else if (!(await new Promise<boolean>((settle) => this.#add(address, { isGone, settle })))) return undefined;
    try {
      return await use();
    } finally {
      this.#admitNext();
    }
  }

  /** With one too many, the last of the address with the most has to go. */
  #add(address: string, waiting: Waiting): void {
    const own = this.#lanes.get(address) ?? [];
    if (own.length >= MOST_WAITING.address) {
      waiting.settle(false);
      return;
    }
    own.push(waiting);
    this.#lanes.set(address, own);
    this.#waiting += 1;
    if (this.#waiting <= MOST_WAITING.all) return;
    let [fullest, most] = [address, own];
    for (const [other, lane] of this.#lanes) if (lane.length > most.length) [fullest, most] = [other, lane];
    most.pop()?.settle(false);
    this.#waiting -= 1;
    if (most.length === 0) this.#lanes.delete(fullest);
  }

  #admitNext(): void {
    for (let next = this.#take(); next; next = this.#take()) {
      const isAdmitted = !next.isGone();
      next.settle(isAdmitted);
      if (isAdmitted) return;
    }
    this.#free += 1;
  }

  #take(): Waiting | undefined {
    const [first] = this.#lanes;
    if (!first) return undefined;
    const [address, lane] = first;
    const next = lane.shift();
    this.#waiting -= 1;
    this.#lanes.delete(address);
    if (lane.length > 0) this.#lanes.set(address, lane);
    return next;
  }
}
