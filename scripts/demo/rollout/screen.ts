import { ink, isTerminal } from '../console.ts';
import { drawLine, drawPicture, WIDTH } from './draw.ts';
import type { Frame } from './picture.ts';

export interface Screen {
  show(frame: Frame): void;
  /** Resolves when all frames were shown; later output appears below. */
  settle(): Promise<void>;
}

/** Minimum time for which a terminal shows each picture; the printed times are the real ones (ms). */
const HOLD_MS = 500;
const TICK_MS = 100;

/** Opens a screen of pictures that replace each other on a terminal, or prints lines elsewhere or if it is too narrow. */
export function openScreen(soakMs: number): Screen {
  return isTerminal && process.stdout.columns >= WIDTH ? new LiveScreen(soakMs) : lines;
}

const lines: Screen = {
  show: ({ atMs, picture }) => console.log(drawLine(picture, { seconds: atMs / 1000, ink })),
  settle: async () => {},
};

class LiveScreen implements Screen {
  readonly #soakMs: number;
  /** With the arrival time of each: a soak continues while earlier ones are still shown. */
  readonly #queue: { frame: Frame; cameAt: number }[] = [];
  #shown: { frame: Frame; cameAt: number; since: number } | undefined;
  /** Lines on the screen that the next picture replaces. */
  #rows: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #settled = Promise.withResolvers<void>();

  constructor(soakMs: number) {
    this.#soakMs = soakMs;
  }

  show(frame: Frame): void {
    this.#queue.push({ frame, cameAt: performance.now() });
    if (this.#timer) return;
    this.#settled = Promise.withResolvers();
    this.#timer = setInterval(() => this.#tick(performance.now()), TICK_MS);
    this.#tick(performance.now());
  }

  async settle(): Promise<void> {
    if (this.#timer) await this.#settled.promise;
    this.#rows = [];
  }

  #tick(now: number): void {
    const isHeld = this.#shown !== undefined && now - this.#shown.since < HOLD_MS;
    if (!isHeld) {
      const next = this.#queue.shift();
      if (next) this.#shown = { ...next, since: now };
      else if (this.#shown?.frame.picture.phase !== 'Soaking') this.#rest();
    }
    if (this.#shown) this.#draw(this.#shown, now);
  }

  /** Nothing is animated: resolves the waiting callers. */
  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#settled.resolve();
  }

  #draw({ frame: { atMs, picture }, cameAt }: { frame: Frame; cameAt: number }, now: number): void {
    const rows = drawPicture(picture, { seconds: atMs / 1000, soaked: (now - cameAt) / this.#soakMs, ink });
    if (rows.join() === this.#rows.join()) return;
    const up = this.#rows.length > 0 ? `\u001b[${this.#rows.length}A` : '';
    process.stdout.write(`${up}\u001b[J${rows.join('\n')}\n`);
    this.#rows = rows;
  }
}
