import type { Readable } from 'node:stream';

/** What tests print, held back while others that run at the same time come first. */
export class TestOutput {
  #held: (string | Buffer)[] | undefined;

  constructor({ isHeld }: { isHeld: boolean }) {
    this.#held = isHeld ? [] : undefined;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  write(text: string | Buffer): void {
    if (this.#held) this.#held.push(text);
    else process.stdout.write(text);
  }

  /** Takes all that a stream brings; resolves at its end. */
  async take(stream: Readable): Promise<void> {
    for await (const chunk of stream) this.write(chunk as Buffer);
  }

  /** Gives what was held to another one. */
  moveTo(other: TestOutput): void {
    for (const text of this.#held?.splice(0) ?? []) other.write(text);
  }

  /** Prints what was held, and from now on everything at once. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const text of held) this.write(text);
  }
}
