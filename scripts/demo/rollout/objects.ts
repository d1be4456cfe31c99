import type { RolloutSpec } from '../../../shared/api/rollout.ts';
import { gatewaySyncObject, podObject } from '../objects.ts';

export const SOAK_SECONDS = 2;
export const FILE = 'gateway.json';

/** Returns the file for every gateway; its patch sets the site. */
const configuration = (logLevel: string): string => `{ "site": "", "logLevel": "${logLevel}" }\n`;

/** The commits, in order. The last one is JSON with a typical mistake. */
export const COMMITS = {
  first: { message: 'First configuration', files: { [`shared/${FILE}`]: configuration('info') } },
  good: { message: 'Log less', files: { [`shared/${FILE}`]: configuration('warn') } },
  bad: { message: 'Log more', files: { [`shared/${FILE}`]: configuration('debug').replace(' }', '') } },
};

export const WAVES: NonNullable<RolloutSpec['waves']> = [
  { name: 'canary', selector: { matchLabels: { tier: 'canary' } }, soak: `${SOAK_SECONDS}s` },
  { name: 'early', gateways: 2, maxConcurrent: 1, soak: `${SOAK_SECONDS}s` },
];

/** The change of the GatewaySync before the bad commit. A preview would keep that commit from all gateways. */
export const WITHOUT_PREVIEW = { spec: { rollout: { waves: WAVES, previewTimeout: '0s' } } };

/** Returns a GatewaySync that delivers one file to all gateways in waves, after an approval. */
export function rolloutObject(repo: string) {
  const object = gatewaySyncObject(repo, '5s');
  const mapping = {
    source: 'shared',
    destination: 'config',
    patches: [{ file: FILE, set: { site: '{{ .GatewayName }}' } }],
  };
  const waves = WAVES.map((wave, index) => (index === 0 ? { ...wave, approval: true } : wave));
  const rollout: RolloutSpec = { waves, onFailure: 'Rollback' };
  return { ...object, spec: { ...object.spec, sync: { profiles: { default: { mappings: [mapping] } } }, rollout } };
}

/** Six pods; one has the label of a canary. */
export const podObjects = Array.from({ length: 6 }, (_, index) => {
  const name = `plant-${index + 1}`;
  const labels = { 'app.kubernetes.io/name': name, ...(index === 0 && { tier: 'canary' }) };
  return { ...podObject, metadata: { ...podObject.metadata, name, labels } };
});
