import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { FIRST_AGENT_WITH_ROLLOUTS } from '../../../shared/api/names.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import { fittingWaves, isWithin, rolloutKey, waveOf } from '../../../shared/domain/waves.ts';

/** A pod with a simulated agent. */
export interface PlayedAgent {
  namespace: string;
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** The report that it has written or is about to write. */
  reported?: object;
}

/** Returns the report that an agent writes for a version of its GatewaySync; undefined while the agent would wait. */
export function reportOf(agent: PlayedAgent, { metadata, spec, status }: GatewaySync): object | undefined {
  if (!status?.lastSyncCommit || status.observedGeneration !== metadata.generation) return undefined;
  const report = {
    podUID: agent.uid,
    crName: metadata.name,
    gateway: agent.name,
    profile: 'default',
    agentVersion: FIRST_AGENT_WITH_ROLLOUTS,
    state: 'Synced',
    generation: metadata.generation,
    ref: status.lastSyncRef,
    commit: status.lastSyncCommit,
    duration: '0.4s',
    files: { added: 0, modified: 1, deleted: 0, unchanged: 200 },
  };
  const { rollout } = status;
  if (!rollout) return report;
  const key = rolloutKey(agent.name, agent.name);
  const waves = fittingWaves(spec.rollout?.waves ?? [], new Map(Object.entries(agent.labels)));
  const isAdmitted = isWithin(key, rollout.admission[waveOf(waves, key, rollout.admission)]?.admitted ?? '');
  const isConcerned = isAdmitted || rollout.phase === 'RollingBack';
  return {
    ...report,
    commit: isAdmitted ? rollout.commit : rollout.stableCommit,
    revision: isAdmitted ? rollout.revision : rollout.stableRevision,
    ...(isConcerned && { rollout: rollout.number }),
    ...previewOf(agent, rollout, isAdmitted),
  };
}

/** Returns the preview of an agent; a commit changes the gateways with the label `changes: "true"`. */
function previewOf({ labels, reported = {} }: PlayedAgent, { preview }: RolloutStatus, isAdmitted: boolean): object {
  // A patch keeps fields that it doesn't name.
  if (!preview) return 'preview' in reported ? { preview: null, unchangedAt: null } : {};
  const { commit, revision } = preview;
  const isUnchanged = labels.changes !== 'true';
  const plan = {
    commit,
    revision,
    digest: (isUnchanged ? '0' : '1').repeat(64),
    added: 0,
    modified: isUnchanged ? 0 : 1,
    deleted: 0,
  };
  return { preview: isAdmitted ? null : plan, unchangedAt: isUnchanged ? commit : null };
}
