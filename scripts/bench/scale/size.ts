/** The defaults of the options of `npm run bench -- scale`. */
export const defaultSize = {
  resources: 1_000,
  pods: 2_000,
  repositories: 50,
  namespaces: 10,
  /** Names of the git server, each with its own host limits. */
  hosts: 10,
  minutes: 5,
  /** Seconds between two polls of a resource. */
  interval: 60,
  /** Commits a minute, each delivered to all resources of its repository. */
  pushes: 12,
  /** Commits a minute that are found only by polls. */
  commits: 4,
  /** Releases a minute, each of one resource. */
  releases: 60,
  /** Edits of a spec a minute. */
  edits: 30,
  /** Pods a minute that are deleted and replaced. */
  churn: 60,
  receivers: 3,
  /** Memory limit of each controller, in MiB. */
  memory: 128,
};

export type Size = typeof defaultSize;
