/** Input and output of a command: a terminal, a pipe, or memory. */
export interface Host {
  /** Prints a result (stdout). */
  print(text: string): void;
  /** Prints a note, a question, or an error (stderr). */
  note(text: string): void;
  /** Width of the terminal; undefined without one. */
  columns: number | undefined;
  hasColours: boolean;
  /** Asks for confirmation; undefined without a terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
  /** Reads stdin to its end. */
  input?: (() => Promise<string>) | undefined;
  /** Opens an address in the browser, ignoring errors; undefined without a display. */
  openBrowser?: ((address: string) => void) | undefined;
  /** Waits until the user stops a long-running command. */
  untilEnded?: () => Promise<void>;
  /** Path of the program. */
  program?: string | undefined;
  /** Value of `KUBECONFIG`. */
  kubeconfigs?: string | undefined;
  /** Environment variables, for proxies. */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
}
