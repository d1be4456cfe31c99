import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { GatewaySync } from '../../../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_RELEASE } from '../../../../shared/api/group.ts';
import { RELEASE_LABELS } from '../../../../shared/api/names.ts';
import type { RolloutPreview, RolloutStatus } from '../../../../shared/api/rollout.ts';
import type { SyncRelease } from '../../../../shared/api/sync-release.ts';
import { releaseName } from '../../../../shared/domain/rollout/release-name.ts';
import { syncRevision } from '../../../../shared/domain/rollout/sync-revision.ts';
import { planOf } from '../../../../shared/domain/rollout/waves.ts';
import { gatewaySyncPath } from '../../../../shared/io/kubernetes/resource-path.ts';
import type { GatewayPod } from './gateway-pod.ts';

const NAME = 'gw';

/** The part of `status.rollout` that a test is about; `admitted` is for each wave, the rest included. */
interface Rollout extends Pick<RolloutStatus, 'number' | 'phase' | 'commit' | 'stableCommit'> {
  admitted: Record<string, string>;
  revision: string;
  stableRevision: string;
  /** Names of the SyncReleases. */
  release?: string;
  stableRelease?: string;
  /** Distinguishes statuses: agents report the ref that they follow. */
  stableRef?: string;
  /** The release that agents preview. */
  preview?: Pick<RolloutPreview, 'commit' | 'revision'> | undefined;
}

interface NewRelease extends Pick<SyncRelease, 'apiVersion' | 'kind' | 'spec'> {
  metadata: { name: string; labels: Record<string, string> };
}

/** Acts as the controller of a rollout in waves. */
export interface RolloutPlay {
  /** Writes the pod's labels as the kubelet does, next to its name; gives the environment of the agent. */
  label(labels?: Record<string, string>): Promise<{ POD_LABELS_FILE: string }>;
  /** The revision of `spec.sync` as it is now. */
  revision(): Promise<string>;
  /** The SyncRelease to create for a commit with `spec.sync` as it is now. */
  releaseOf(commit: string, number: number): Promise<NewRelease>;
  /** Sets the observed generation, and the admission of gateways. */
  roll(rollout: Rollout): Promise<void>;
}

export function playRollout(pod: GatewayPod): RolloutPlay {
  const { client, namespace } = pod;
  const resource = gatewaySyncPath(namespace, NAME);
  const read = () => client.getAs<GatewaySync>(resource);
  const file = path.join(path.dirname(pod.data), 'labels');
  return {
    label: async (labels = {}) => {
      const lines = Object.entries({ 'app.kubernetes.io/name': 'edge', ...labels });
      await writeFile(file, lines.map(([key, value]) => `${key}=${JSON.stringify(value)}\n`).join(''));
      return { POD_LABELS_FILE: file };
    },
    revision: async () => syncRevision((await read()).spec.sync),
    releaseOf: async (commit, number) => {
      const { spec } = await read();
      return {
        apiVersion: API_VERSION,
        kind: SYNC_RELEASE.kind,
        metadata: { name: releaseName(NAME, number), labels: { [RELEASE_LABELS.crName]: NAME } },
        spec: { number, sources: [{ name: 'main', repo: spec.git.repo, ref: 'main', commit }], sync: spec.sync },
      };
    },
    roll: async ({ admitted, stableRef = 'stable', preview, ...rollout }) => {
      const { metadata, spec } = await read();
      const { waves = [] } = spec.rollout ?? {};
      const isAboutThem = waves.every(({ name }) => name in admitted);
      // An agent that follows the newest commit would deliver it.
      await pod.settle(rollout.commit, 'newest');
      await client.mergePatch(`${resource}/status`, {
        status: {
          observedGeneration: metadata.generation,
          rollout: {
            summary: '',
            ref: 'next',
            stableRef,
            admitted: 0,
            verified: 0,
            failed: 0,
            total: 1,
            startedAt: new Date().toISOString(),
            plan: isAboutThem ? planOf(waves) : 'other',
            admission: Object.entries(admitted).map(([wave, boundary]) => ({
              wave,
              members: 'all',
              admitted: boundary,
            })),
            ...rollout,
            preview: preview ? previewOf(preview) : null,
          },
        },
      });
    },
  };
}

function previewOf(release: Pick<RolloutPreview, 'commit' | 'revision'>): RolloutPreview {
  const counts = { total: 1, reported: 0, unchanged: 0, failing: 0, files: 0 };
  return { ...release, ...counts, ref: 'next', startedAt: new Date().toISOString() };
}
