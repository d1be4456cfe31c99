import type { CredentialSource } from './io/kubernetes/credentials.ts';
import type { Logger } from './log.ts';

/** Parts of a process that a program runs with. */
export interface Host {
  /** Stops the program. */
  signal: AbortSignal;
  log: Logger;
  /** For git and for proxies. */
  environment: NodeJS.ProcessEnv;
  /** For the API server. */
  credentials: CredentialSource;
}
