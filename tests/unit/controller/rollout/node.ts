import type { World } from './model.ts';

/** What may happen next to what the controller and the agents do: each so many times in one history. */
export interface Limits {
  newer?: number;
  rollback?: number;
  /** A person names a commit of the history. */
  goTo?: number;
  retry?: number;
  leave?: number;
  join?: number;
  /** A gateway is not ready any more. */
  die?: number;
  /** One that was not is ready again. */
  recover?: number;
  /** The waves are edited. */
  edit?: number;
  /** A window opens, or closes. */
  gate?: number;
  /** A gateway is paused, or goes on. */
  rest?: number;
  approve?: number;
  /** Nobody knows what is newest for a while. */
  unknown?: number;
  /** `spec.rollout` is removed, and put back. */
  remove?: number;
  /** The status is removed. */
  wipe?: number;
  /** How many agents read, act and are heard of at different times, the others all at once: the last ones by name. */
  slow?: number;
}

export interface Node {
  world: World;
  left: Required<Limits>;
  /** Commits that were given up, until somebody asks for them again. */
  givenUp: string[];
  /** Waves that ever had gateways, each with its plan. */
  had: string[];
  /** Waves in which a gateway was well with a rollout, each with its number. */
  shown: string[];
}

/** Phases of a rollout in which nothing is on its way. */
export const AT_REST = ['Complete', 'Stopped', 'RolledBack'];
