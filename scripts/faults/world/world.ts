import type { ApiProxy } from './api-proxy.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Gateway } from './gateway.ts';
import type { GitHosts } from './git-hosts.ts';
import type { ManagedProgram } from './managed-program.ts';
import type { Resource } from './resource.ts';
import type { Senders } from './senders.ts';

/** All running programs, and operations on them. */
export interface World {
  directory: string;
  plane: ControlPlane;
  hosts: GitHosts;
  senders: Senders;
  resources: Resource[];
  gateways: Gateway[];
  receivers: ManagedProgram[];
  controllers: ManagedProgram[];
  /** Returns all programs, including those of gateways with any pods. */
  programs(): ManagedProgram[];
  /** Starts a proxy for one program. */
  makeProxy(): Promise<ApiProxy>;
  /** Registers a function to call at the end. */
  onStop(close: () => unknown): void;
  stop(): Promise<void>;
}
