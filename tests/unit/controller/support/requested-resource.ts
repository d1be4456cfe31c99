import { readIntents } from '../../../../controller/intent/intents.ts';
import type { AdvertisedRefs } from '../../../../controller/polling/query-result.ts';
import { type Decision, decide } from '../../../../controller/reconcile/decide/decide.ts';
import type { Observation } from '../../../../controller/reconcile/decide/observation.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { withoutUndefined } from '../../../../shared/domain/text/objects.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';
import { withStored } from './observed-release.ts';

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
  /** Number of edits of the spec, and the second at which the watch first delivered the current spec.git. */
  edits?: number;
  editSeen?: number;
  allowedRefs?: string[];
  repositories?: string[];
  /** Another resource, from `hubOf`. */
  from?: string;
  paused?: boolean;
  request?: Partial<NonNullable<ObservedGatewaySync['request']>>;
  push?: Partial<NonNullable<ObservedGatewaySync['push']>>;
  status?: GatewaySyncStatus;
}

/** A resource with requests of users and webhooks, which the watch delivers long after they were made. */
export function resourceOf(asked: Asked): ObservedGatewaySync {
  const { ref = 'main', repo = 'https://git.test/app.git', edits = 0, editSeen, request, push } = asked;
  const { allowedRefs = [], repositories = [], paused = false, status = {}, from } = asked;
  const { semver, tagPrefix } = asked;
  const seen = { applied: false, seenAt: second(10_000) };
  return {
    namespace: 'ns',
    name: 'app',
    uid: 'uid',
    generation: 1 + edits,
    resourceVersion: '1',
    deleting: false,
    createdAt: created,
    spec: gatewaySpecOf({
      git: asked.semver === undefined ? { repo, ref } : withoutUndefined({ repo, semver, tagPrefix }),
      webhook: { allowedRefs, repositories, ...(from !== undefined && { from }) },
      paused,
    }),
    status,
    ...(editSeen !== undefined && { editSeenAt: second(editSeen) }),
    ...(request ? { request: { ref: 'v1', ...seen, ...request } } : {}),
    ...(push ? { push: { ref: 'refs/heads/dev', ...seen, ...push } } : {}),
  };
}

/** The status after the first reconcile. */
export const followsMain: GatewaySyncStatus = {
  observedGeneration: 1,
  observedRef: 'main',
  observedRepo: 'https://git.test/app.git',
  target: { ref: 'main', source: 'Spec' },
};

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

/**
 * Decides long after all events, unless `now` is specified, and without pods, unless there are some. All releases can be
 * stored, unless some are specified.
 */
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
    releases: [],
    isLabelRequired: false,
    cluster: '',
    commitStatus: undefined,
    reportOf: () => undefined,
  };
  const { releases } = observation;
  const decideWith = (stored: Observation['releases']) => decide({ ...plain, ...observation, releases: stored }, now);
  return releases ? decideWith(releases) : withStored(decideWith);
}
