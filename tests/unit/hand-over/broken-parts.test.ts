import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { edited } from './api-server.ts';
import { explore } from './explore.ts';
import { PARTS, type Parts } from './parts.ts';
import { atOnce, byWaves, foreign, inSteps, ranged, v1, v2 } from './setups.ts';
import { commit, type Setup } from './world.ts';

type Broken = [what: string, broken: Partial<Parts>, setup: Omit<Setup, 'parts'>, found: RegExp];

const withStatusOf =
  (change: (status: GatewaySyncStatus) => GatewaySyncStatus): Parts['decide'] =>
  (...given) => {
    const decision = PARTS.decide(...given);
    return { ...decision, status: change(decision.status) };
  };

let count = 0;

/** Possible bugs of the code, with the error that the model reports. */
const broken: Broken[] = [
  [
    'a status is written over a changed resource',
    { withStatus: (before, { metadata: { uid }, status }) => PARTS.withStatus(before, { metadata: { uid }, status }) },
    { ...inSteps, budget: { deliveries: [v1], edits: ['next'], lease: 1 } },
    /followed again|is followed, and not what is newest|not seen|is not handled/,
  ],
  [
    'intents are followed in the order of their storage',
    {
      projectGatewaySync: (...given) => {
        const { request, ...rest } = PARTS.projectGatewaySync(...given);
        const { at: _, ...late } = request ?? { ref: '', applied: false, seenAt: 0 };
        return request ? { ...rest, request: late } : rest;
      },
    },
    { ...atOnce, budget: { deliveries: [v1], edits: ['next'], minute: 1 } },
    /followed again|is followed, and not what is newest/,
  ],
  [
    'a superseded request is reported as applied',
    {
      decide: withStatusOf(({ lastRequest, ...status }) =>
        lastRequest?.outcome === 'Superseded'
          ? { ...status, lastRequest: { ...lastRequest, outcome: 'Applied' } }
          : { ...status, ...(lastRequest && { lastRequest }) },
      ),
    },
    { ...atOnce, budget: { deliveries: [v1], edits: ['next'] } },
    /is said to be followed, and is not/,
  ],
  [
    'a delivery whose patch was lost gets 202',
    { judgeFailure: () => ({ kind: 'superseded', part: 'request' }) },
    { ...atOnce, budget: { deliveries: [v1], lose: 1 } },
    /was answered 202, and neither it nor anything newer is stored/,
  ],
  [
    'the oldest of several deliveries is kept',
    { mergeAnnotations: (deliveries) => PARTS.mergeAnnotations(deliveries.slice(0, 1)) },
    { ...atOnce, budget: { deliveries: [v1, v2] } },
    /was answered 202, and neither it nor anything newer is stored/,
  ],
  [
    'the API server accepts a request older than the stored one',
    { annotated: (before, annotations, now) => edited(before, { annotations }, { manager: 'sync-receiver', now }) },
    { ...atOnce, receivers: 2, budget: { deliveries: [v1, v2] } },
    /is stored in place of something newer/,
  ],
  [
    'the API server accepts a request about another repository',
    { annotated: (before, annotations, now) => edited(before, { annotations }, { manager: 'sync-receiver', now }) },
    { ...atOnce, budget: { deliveries: [foreign] } },
    /of another repository is stored/,
  ],
  [
    'one patch contains deliveries about several repositories',
    { repositoryOf: () => '-' },
    { ...atOnce, budget: { deliveries: [v1, foreign] } },
    /is refused with a delivery about another repository/,
  ],
  [
    'a change of the resource causes no reconcile',
    { affectedByGatewaySync: () => [] },
    { ...atOnce, budget: { deliveries: [v1] } },
    /written again and again|not what is newest|is not handled/,
  ],
  [
    'a status that another client wiped causes no reconcile',
    { isDecidedElsewhere: () => false },
    { ...atOnce, budget: { wipe: 1 } },
    /written again and again|not what is newest|not seen/,
  ],
  [
    'each status differs from the previous one',
    { decide: withStatusOf((status) => ({ ...status, pendingRef: String(count++) })) },
    { ...atOnce, budget: {} },
    /written again and again|does not come to rest/,
  ],
  [
    'a gateway applies new mappings with an old commit',
    {
      judgeResource: (resource, ...given) =>
        PARTS.judgeResource(resource && { ...resource, observedGeneration: resource.generation }, ...given),
    },
    { controller: 'at once', agent: 'at once', budget: { mappings: ['b'] } },
    /which it was never let have/,
  ],
  [
    'a gateway applies a commit that only others are admitted to',
    {
      judgeResource: (resource, ...given) => {
        const { rollout } = resource ?? {};
        const status = rollout?.status as GatewaySyncStatus['rollout'];
        const admission = status?.admission.map((wave) => ({ ...wave, admitted: 'all' }));
        const open = rollout && { rollout: { ...rollout, status: status && { ...status, admission } } };
        return PARTS.judgeResource(resource && { ...resource, ...open }, ...given);
      },
    },
    { agents: 2, controller: 'at once', agent: 'at once', spec: byWaves, budget: { deliveries: [v1] } },
    /which it was never let have/,
  ],
  [
    'an older tag is followed in place of one that vanished',
    {
      decide: ({ intents, ...rest }, now) => {
        const range = rest.query?.kind === 'refs' && intents.range && { ...intents.range, keptTag: undefined };
        return PARTS.decide({ ...rest, intents: range ? { ...intents, range } : intents }, now);
      },
    },
    {
      ...atOnce,
      spec: ranged.spec,
      refs: { 'refs/tags/v1.4.0': commit('1'), 'refs/tags/v1.4.1': commit('2') },
      budget: { pushes: [['refs/tags/v1.4.1']] },
    },
    /v1\.4\.0 after v1\.4\.1/,
  ],
  [
    'a report contains another commit than the one on disk',
    { reportStatus: (...given) => ({ ...PARTS.reportStatus(...given), commit: commit('f') }) },
    { controller: 'at once', budget: {} },
    /names a commit that is not on the disk/,
  ],
];

suite('the model of the hand-over', () => {
  for (const [what, parts, setup, found] of broken) {
    test(`reports an error if ${what}`, () => {
      assert.throws(() => explore({ ...setup, parts: { ...PARTS, ...parts } }, { most: 20_000 }), found);
    });
  }
});
