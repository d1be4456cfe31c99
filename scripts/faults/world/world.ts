import type { ApiProxy } from './api-proxy.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Gateway } from './gateway.ts';
import type { GitHosts } from './git-hosts.ts';
import type { ManagedProgram } from './managed-program.ts';
import type { Resource } from './resource.ts';
import type { Senders } from './senders.ts';

/** Everything that runs, and what one does to it. */
export interface World {
  folder: string;
  plane: ControlPlane;
  /** The CA of the proxies. */
  caFile: string;
  hosts: GitHosts;
  senders: Senders;
  resources: Resource[];
  gateways: Gateway[];
  receivers: ManagedProgram[];
  controllers: ManagedProgram[];
  /** All programs, those of gateways included, whatever pods these have. */
  programs(): ManagedProgram[];
  makeProxy(): Promise<ApiProxy>;
  /** Does something more when all is over. */
  onStop(close: () => unknown): void;
  stop(): Promise<void>;
}
