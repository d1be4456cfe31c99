import type { Host } from './host.ts';

/** Shows what changes: rows that replace one another on a terminal, else a line for each change. */
export class Screen {
  readonly #host: Pick<Host, 'print' | 'columns'>;
  #rows: readonly string[] = [];

  constructor(host: Pick<Host, 'print' | 'columns'>) {
    this.#host = host;
  }

  /** Shows rows, of the terminal's width at most; `line` is the same in one line. */
  show(rows: readonly string[], line: string): void {
    const next = this.#host.columns === undefined ? [line] : rows;
    if (next.join('\n') === this.#rows.join('\n')) return;
    const isReplaced = this.#host.columns !== undefined && this.#rows.length > 0;
    const up = isReplaced ? `\u001b[${this.#rows.length}A\u001b[J` : '';
    this.#host.print(`${up}${next.join('\n')}\n`);
    this.#rows = next;
  }
}
