import { closeSync, openSync } from 'node:fs';

/** An open file, which is closed when the block ends that it is declared in (`using`). */
export class OpenFile implements Disposable {
  readonly descriptor: number;

  constructor(path: string, flags: string | number, mode?: number) {
    this.descriptor = openSync(path, flags, mode);
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}
