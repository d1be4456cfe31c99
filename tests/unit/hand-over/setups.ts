import { FOREIGN } from './api-server.ts';
import { commit } from './world.ts';

export const v1 = { kind: 'request', ref: 'v1' } as const;
export const v2 = { kind: 'request', ref: 'v2' } as const;
/** A request about another repository that has a tag of the same name. */
export const foreign = { ...v2, repository: FOREIGN } as const;

/** Without gateways. */
export const atOnce = { agents: 0, controller: 'at once' } as const;
export const inSteps = { agents: 0, controller: 'in steps' } as const;

export const byWaves = { rollout: { waves: [{ name: 'one', gateways: 1 }], previewTimeout: '0s' } };

/** A range, with a tag in it and one that is not. */
export const ranged = {
  spec: { git: { repo: 'https://git.test/app.git', semver: '~1.4' } },
  refs: { 'refs/tags/v1.4.0': commit('1'), 'refs/tags/v2.0.0': commit('2') },
};
