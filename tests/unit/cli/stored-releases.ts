import type { StoredRelease } from '../../../shared/domain/rollout/stored-release.ts';

/** Fields of a release that all gateways had, and of one that they left in a rollback. */
const completedAt = Date.parse('2026-01-01T00:00:00Z');
export const complete = { completedAt, result: 'Complete', phase: 'Complete' } as const;
export const rejected = { completedAt, result: 'Rejected', phase: 'RolledBack' } as const;

/** Makes a release of the GatewaySync gateways/plant. */
export const storedRelease = (number: number, commit: string, parts: Partial<StoredRelease> = {}): StoredRelease => ({
  namespace: 'gateways',
  crName: 'plant',
  release: `plant-${number}`,
  number,
  repo: 'https://git.example.test/plant.git',
  commit,
  ref: `v${number}`,
  revision: '1'.repeat(32),
  ...parts,
});
