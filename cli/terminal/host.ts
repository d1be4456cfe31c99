/** What a command prints to and asks: a terminal, a pipe, or the memory of whoever runs it in process. */
export interface Host {
  /** What was asked for. */
  print(text: string): void;
  /** What is said about it: notes, questions, errors. */
  note(text: string): void;
  /** Columns of the terminal that is printed to; undefined where it is none. */
  columns: number | undefined;
  hasColours: boolean;
  /** Asks a person, who answers yes or no; undefined where there is none to ask. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
  /**
   * Takes what has to be done if the program is interrupted, and gives what is to be called when that is over; left out
   * where nobody can interrupt it.
   */
  onExit?: ((leave: () => Promise<void>) => () => void) | undefined;
  /** What `KUBECONFIG` says. */
  kubeconfigs?: string | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
}
