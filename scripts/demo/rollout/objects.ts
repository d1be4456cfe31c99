import type { RolloutSpec } from '../../../shared/api/rollout.ts';
import { gatewaySyncObject, podObject } from '../objects.ts';

export const SOAK_SECONDS = 2;
export const FILE = 'gateway.json';

/** The file of every gateway; its patch fills in the site. */
const configuration = (logLevel: string): string => `{ "site": "", "logLevel": "${logLevel}" }\n`;

/** The commits, one after the other. The last one is what a slip of the hand makes of JSON. */
export const COMMITS = {
  first: { message: 'First configuration', files: { [`shared/${FILE}`]: configuration('info') } },
  good: { message: 'Log less', files: { [`shared/${FILE}`]: configuration('warn') } },
  bad: { message: 'Log more', files: { [`shared/${FILE}`]: configuration('debug').replace(' }', '') } },
};

export const WAVES: NonNullable<RolloutSpec['waves']> = [
  { name: 'canary', selector: { matchLabels: { tier: 'canary' } }, soak: `${SOAK_SECONDS}s` },
  { name: 'early', gateways: 2, maxConcurrent: 1, soak: `${SOAK_SECONDS}s` },
];

/** One file for all gateways, by waves. */
export function rolloutObject(repo: string) {
  const object = gatewaySyncObject(repo, '5s');
  const mapping = {
    source: 'shared',
    destination: 'config',
    patches: [{ file: FILE, set: { site: '{{ .GatewayName }}' } }],
  };
  const rollout: RolloutSpec = { waves: WAVES, onFailure: 'Rollback' };
  return { ...object, spec: { ...object.spec, sync: { profiles: { default: { mappings: [mapping] } } }, rollout } };
}

/** Six pods; one says that it is a canary. */
export const podObjects = Array.from({ length: 6 }, (_, index) => {
  const name = `plant-${index + 1}`;
  const labels = { 'app.kubernetes.io/name': name, ...(index === 0 && { tier: 'canary' }) };
  return { ...podObject, metadata: { ...podObject.metadata, name, labels } };
});
