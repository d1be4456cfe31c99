import type { Host } from './host.ts';

/** Shows progress: replaces rows on a terminal, otherwise prints a line per change. */
export class Screen {
  readonly #host: Pick<Host, 'print' | 'columns'>;
  #rows: readonly string[] = [];

  constructor(host: Pick<Host, 'print' | 'columns'>) {
    this.#host = host;
  }

  /** Shows rows that fit the terminal; `line` is their one-line form. */
  show(rows: readonly string[], line: string): void {
    const next = this.#host.columns === undefined ? [line] : rows;
    if (next.join('\n') === this.#rows.join('\n')) return;
    const isReplaced = this.#host.columns !== undefined && this.#rows.length > 0;
    const up = isReplaced ? `\u001b[${this.#rows.length}A\u001b[J` : '';
    this.#host.print(`${up}${next.join('\n')}\n`);
    this.#rows = next;
  }
}
