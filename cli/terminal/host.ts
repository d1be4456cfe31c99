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
  /** Reads stdin to its end; undefined where there is none. */
  input?: (() => Promise<string>) | undefined;
  /** Opens an address in the browser; undefined where there is nobody to see it. What goes wrong stays unsaid. */
  openBrowser?: ((address: string) => void) | undefined;
  /** Waits until the person ends a command that would go on for ever; without it such a command ends at once. */
  untilEnded?: () => Promise<void>;
  /**
   * Takes what has to be done if the program is interrupted, and gives what is to be called when that is over; left out
   * where nobody can interrupt it.
   */
  onExit?: ((leave: () => Promise<void>) => () => void) | undefined;
  /** File that is run as this program. */
  program?: string | undefined;
  /** What `KUBECONFIG` says. */
  kubeconfigs?: string | undefined;
  /** Variables that may name proxies. */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
}
