import { Turns } from '../../shared/domain/turns.ts';

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
  readonly #turns = new Turns<Waiting>();
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
    if (this.#turns.sizeOf(address) >= MOST_WAITING.address) {
      waiting.settle(false);
      return;
    }
    this.#turns.add(address, waiting);
    if (this.#turns.size > MOST_WAITING.all) this.#turns.takeFromFullest()?.settle(false);
  }

  #admitNext(): void {
    for (let next = this.#turns.take(); next; next = this.#turns.take()) {
      const isAdmitted = !next.item.isGone();
      next.item.settle(isAdmitted);
      if (isAdmitted) return;
    }
    this.#free += 1;
  }
}
