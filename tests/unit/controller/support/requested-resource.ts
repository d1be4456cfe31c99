import { readIntents } from '../../../../controller/intent/intents.ts';
import type { AdvertisedRefs } from '../../../../controller/intent/resolve-ref.ts';
import { type Decision, decide } from '../../../../controller/reconcile/decide.ts';
import type { Observation } from '../../../../controller/reconcile/observation.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { withoutUndefined } from '../../../../shared/domain/objects.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

const created = Date.parse('2026-01-01T00:00:00Z');

/** Time this number of seconds after the creation of the resource (ms since the epoch). */
export const second = (seconds: number): number => created + seconds * 1000;
/** The same in the format of an annotation. */
export const at = (seconds: number): string => new Date(second(seconds)).toISOString();

export interface Asked {
  ref?: string;
  /** Instead of the ref. */
  semver?: string;
  tagPrefix?: string;
  repo?: string;
  /** Second at which spec.git.ref was written; the resource was created at 0. */
  refWritten?: number;
  repoWritten?: number;
  allowedRefs?: string[];
  repositories?: string[];
  /** Another resource, from `hubOf`, and the second at which it was set. */
  from?: string;
  fromWritten?: number;
  paused?: boolean;
  request?: Partial<NonNullable<ObservedGatewaySync['request']>>;
  push?: Partial<NonNullable<ObservedGatewaySync['push']>>;
  status?: GatewaySyncStatus;
}

/** A resource with requests of users and webhooks; annotations are stored long after they were made. */
export function resourceOf(asked: Asked): ObservedGatewaySync {
  const { ref = 'main', repo = 'https://git.test/app.git', refWritten = 0, repoWritten = 0, request, push } = asked;
  const { allowedRefs = [], repositories = [], paused = false, status = {}, from, fromWritten } = asked;
  const { semver, tagPrefix } = asked;
  const stored = { applied: false, writtenAt: second(10_000) };
  return {
    namespace: 'ns',
    name: 'app',
    uid: 'uid',
    generation: 1,
    resourceVersion: '1',
    deleting: false,
    createdAt: created,
    refWrittenAt: second(refWritten),
    repoWrittenAt: second(repoWritten),
    spec: gatewaySpecOf({
      git: asked.semver === undefined ? { repo, ref } : withoutUndefined({ repo, semver, tagPrefix }),
      webhook: { allowedRefs, repositories, ...(from !== undefined && { from }) },
      paused,
    }),
    status,
    ...(fromWritten !== undefined && { fromWrittenAt: second(fromWritten) }),
    ...(request ? { request: { ref: 'v1', ...stored, ...request } } : {}),
    ...(push ? { push: { ref: 'refs/heads/dev', ...stored, ...push } } : {}),
  };
}

const hash = (letter: string) => letter.repeat(40);
/** Refs of the repository. */
export const refs: AdvertisedRefs = new Map([
  ['refs/heads/main', hash('a')],
  ['refs/heads/next', hash('b')],
  ['refs/heads/dev', hash('c')],
  ['refs/heads/other', hash('d')],
  ['refs/tags/v1', hash('1')],
  ['refs/tags/v2', hash('2')],
]);

interface DecisionOptions extends Partial<Observation> {
  now?: number;
  /** The only other resource in the cache. */
  hub?: ObservedGatewaySync;
}

/** Decides long after all events, unless `now` is specified, and without pods, unless there are some. */
export function decideFor(
  gatewaySync: ObservedGatewaySync,
  { now = second(100_000), hub, ...observation }: DecisionOptions = {},
): Decision {
  const others = (key: string) => (hub && key === `${hub.namespace}/${hub.name}` ? hub : undefined);
  const plain: Observation = {
    gatewaySync,
    intents: readIntents(gatewaySync, others),
    query: { kind: 'refs', refs },
    pods: [],
    missing: [],
    unmade: [],
    accessProblems: [],
    isRevisionKept: true,
    areAuthorsChecked: false,
    isLabelRequired: false,
    cluster: '',
    commitStatus: undefined,
    reportOf: () => undefined,
  };
  return decide({ ...plain, ...observation }, now);
}
