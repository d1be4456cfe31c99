import type { World } from './model.ts';

/** Events besides steps of the controller and the agents, with their maximum number in one history. */
export interface Limits {
  newer?: number;
  /** The newest commit is the one before it again. */
  revert?: number;
  rollback?: number;
  /** A user orders a rollback to a stored release. */
  goTo?: number;
  retry?: number;
  leave?: number;
  join?: number;
  /** A gateway becomes unready. */
  die?: number;
  /** An unready one becomes ready. */
  recover?: number;
  /** The waves are edited. */
  edit?: number;
  /** A window opens, or closes. */
  gate?: number;
  /** A gateway is paused, or resumed. */
  rest?: number;
  /** A user approves what was shown at that time, or earlier. */
  approve?: number;
  /** The write of a status is refused after a release was stored for it. */
  refuse?: number;
  /** The newest commit is unknown for a while. */
  unknown?: number;
  /** The labels of a gateway change, and so its files with every commit. */
  relabel?: number;
  /** An agent restarts. The note that its release changed no file can get lost. */
  restart?: number;
  /** `spec.rollout` is removed, and added again. */
  remove?: number;
  /** The status is removed. */
  wipe?: number;
  /** The status and the releases are removed. */
  lose?: number;
  /**
   * Number of agents that read, act, and report at different times, the last ones by name; the others do it all at
   * once.
   */
  slow?: number;
}

export interface Node {
  world: World;
  left: Required<Limits>;
  /** Abandoned commits, until a user orders a retry. */
  givenUp: string[];
  /** Waves that ever had gateways, with their plans. */
  had: string[];
  /** Waves in which a gateway was healthy with a rollout, with its number. */
  shown: string[];
}

/** Phases of a rollout without progress. */
export const AT_REST = ['Complete', 'Stopped', 'RolledBack'];

/** Whether an order hasn't been handled yet. One that was removed has no effect. */
export const isOrdered = (world: World, order: 'rollback' | 'retry'): boolean =>
  world[order] !== undefined && world[order] !== world.state?.handled?.[order];
