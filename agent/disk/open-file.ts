import { closeSync, openSync } from 'node:fs';

/** An open file that is closed at the end of its block (`using`). */
export class OpenFile implements Disposable {
  readonly descriptor: number;

  constructor(path: string, flags: string | number, mode?: number) {
    this.descriptor = openSync(path, flags, mode);
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}
