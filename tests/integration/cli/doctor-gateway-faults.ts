import type { Change, Fault } from './doctor-fault.ts';
import { at, COMMIT, CONTROLLER_ENV, GATEWAYS, resource } from './doctor-objects.ts';

const CONTROLLER = `${at.deployments()}/stoker-operator`;
const PLANT = `${at.gatewaySyncs()}/plant`;

export const status = (path: string, value: object): Change => ({ patch: path, with: { status: value }, status: true });
export const annotate = (path: string, annotations: object): Change => ({
  patch: path,
  with: { metadata: { annotations } },
});

export const asks = { 'sync.io/inject': 'true', 'sync.io/cr-name': 'plant' };

const rollout = (value: object) => ({
  rollout: {
    number: 1,
    phase: 'Complete',
    summary: '',
    commit: COMMIT,
    ref: 'main',
    revision: '1',
    message: 'in words',
    stableCommit: COMMIT,
    stableRef: 'main',
    stableRevision: '1',
    startedAt: '2026-01-01T00:00:00Z',
    admitted: 1,
    verified: 1,
    failed: 0,
    total: 1,
    plan: '',
    admission: [],
    ...value,
  },
});

const ofNamespaces: readonly Fault[] = [
  {
    name: 'a namespace that does not exist',
    change: [],
    line: ['-n', 'nowhere'],
    check: 'namespace/there',
    says: /namespace nowhere not found/,
  },
  {
    name: 'a namespace that is not watched',
    change: [
      {
        patch: CONTROLLER,
        with: {
          spec: {
            template: {
              spec: {
                containers: [
                  {
                    name: 'controller',
                    image: 'controller:0.1.0',
                    env: Object.entries({ ...CONTROLLER_ENV, WATCH_NAMESPACES: 'a,b' }).map(([name, value]) => ({
                      name,
                      value,
                    })),
                  },
                ],
              },
            },
          },
        },
      },
    ],
    check: 'namespace/watched',
    says: /no controller watches gateways/,
  },
  {
    name: 'a GatewaySync that does not exist',
    change: [],
    line: ['palnt'],
    check: 'namespace/gatewaysyncs',
    says: /GatewaySync palnt not found/,
  },
  {
    name: 'a namespace without a GatewaySync',
    change: [],
    line: ['-n', 'default'],
    check: 'namespace/gatewaysyncs',
    level: 'warning',
    says: /no GatewaySync found in default/,
  },
  {
    name: 'a RoleBinding that is gone',
    change: [{ remove: `${at.roleBindings}/sync-agent-plant` }],
    check: 'namespace/role-binding',
    says: /no RoleBinding for agents with the ServiceAccount default/,
  },
  {
    name: 'an annotation of a Deployment instead of its pods',
    change: [
      {
        add: at.deployments(GATEWAYS),
        object: {
          metadata: { name: 'till', annotations: asks },
          spec: {
            selector: { matchLabels: { app: 'till' } },
            template: {
              metadata: { labels: { app: 'till' } },
              spec: { containers: [{ name: 'gateway', image: 'x' }] },
            },
          },
        },
      },
    ],
    check: 'namespace/workload',
    says: /the annotation sync\.io\/inject is on the Deployment till/,
  },
  {
    name: 'a workload whose pods are denied',
    change: [
      {
        add: at.events,
        object: {
          metadata: { name: 'denied' },
          involvedObject: { kind: 'ReplicaSet', name: 'till-1', namespace: GATEWAYS },
          reason: 'FailedCreate',
          type: 'Warning',
          message: 'admission webhook "inject.sync.io" denied the request: sync agent: there is no GatewaySync here',
        },
      },
    ],
    check: 'namespace/denied',
    says: /pods of ReplicaSet till-1 are denied: there is no GatewaySync here/,
  },
  {
    name: 'a NetworkPolicy that may hold agents back',
    change: [
      {
        add: at.networkPolicies(),
        object: { metadata: { name: 'deny' }, spec: { podSelector: {}, policyTypes: ['Egress'] } },
      },
    ],
    check: 'namespace/network-policy',
    says: /restrict the egress of agents in gateways/,
    level: 'warning',
  },
];

const ofResources: readonly Fault[] = [
  {
    name: 'a GatewaySync that no controller has seen',
    change: [{ add: at.gatewaySyncs(), object: { ...resource(GATEWAYS, 'unseen'), status: undefined } }],
    check: 'gatewaysync/seen',
    says: /no controller has reconciled it/,
    level: 'warning',
  },
  {
    name: 'a change that the controller has not seen',
    change: [status(PLANT, { observedGeneration: 0 })],
    check: 'gatewaysync/seen',
    says: /the latest change is not reconciled: observed generation 0 of/,
    level: 'warning',
  },
  {
    name: 'a condition that is False',
    change: [
      status(PLANT, {
        conditions: ['RefResolved', 'Ready'].map((type) => ({
          type,
          status: 'False',
          reason: 'AuthenticationFailed',
          message: 'the host refuses the token',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        })),
      }),
    ],
    check: 'conditions/RefResolved/AuthenticationFailed',
    says: /the host refuses the token/,
  },
  {
    name: 'a Secret that does not exist',
    change: [{ remove: `${at.secrets()}/git` }],
    check: 'gatewaysync/secret',
    says: /Secret gateways\/git \(spec\.git\.auth\.token\) does not exist/,
  },
  {
    name: 'a Secret without the key',
    change: [{ patch: `${at.secrets()}/git`, with: { data: { token: null, password: 'eA==' } } }],
    check: 'gatewaysync/secret',
    says: /has no key token/,
  },
  {
    name: 'a Secret with an empty value',
    change: [{ patch: `${at.secrets()}/git`, with: { data: { token: '' } } }],
    check: 'gatewaysync/secret',
    says: /is empty in its key token/,
  },
  {
    name: 'a pause',
    change: [{ add: at.gatewaySyncs(), object: resource(GATEWAYS, 'resting', { paused: true }) }],
    check: 'gatewaysync/paused',
    says: /paused: nothing changes/,
    level: 'warning',
  },
  ...(['paused', 'dryRun'] as const).map(
    (key): Fault => ({
      name: `a profile with ${key}`,
      change: [
        {
          add: at.gatewaySyncs(),
          object: resource(GATEWAYS, 'resting', {
            sync: {
              defaults: { [key]: true },
              profiles: { line: { mappings: [{ source: 'a', destination: 'a' }] } },
            },
          }),
        },
      ],
      check: key === 'paused' ? 'gatewaysync/paused-profile' : 'gatewaysync/dry-run',
      level: 'warning',
      says: /: line$/,
    }),
  ),
  {
    name: 'that nothing finds changes',
    change: [
      { remove: `${at.deployments()}/stoker-operator-receiver` },
      { add: at.gatewaySyncs(), object: resource(GATEWAYS, 'deaf', { polling: { enabled: false } }) },
    ],
    check: 'gatewaysync/polling',
    says: /polling is off, and no receiver is installed/,
  },
  {
    name: 'a request that failed',
    change: [status(PLANT, { lastRequest: { ref: 'v9', outcome: 'Failed', message: 'there is no v9' } })],
    check: 'gatewaysync/request',
    says: /for v9, failed: there is no v9/,
  },
  {
    name: 'a push that was ignored',
    change: [status(PLANT, { lastPush: { ref: 'x', outcome: 'Ignored', message: 'not allowed' } })],
    check: 'gatewaysync/push',
    says: /for x, was ignored: not allowed/,
    level: 'warning',
  },
  {
    name: 'a request that waits for its ref',
    change: [status(PLANT, { lastRequest: { ref: 'v9', outcome: 'Pending' } })],
    check: 'gatewaysync/request',
    says: /is pending/,
    level: 'warning',
  },
  {
    name: 'a request that nobody has handled',
    change: [
      annotate(PLANT, {
        'sync.io/requested-ref': 'v9',
        'sync.io/requested-at': '2026-01-01T00:00:00Z',
        'sync.io/request-id': 'lost',
      }),
    ],
    check: 'gatewaysync/request-unhandled',
    says: /not handled the request lost/,
    level: 'warning',
  },
  {
    name: 'a request whose time is none',
    change: [annotate(PLANT, { 'sync.io/requested-ref': 'v9', 'sync.io/requested-at': 'now' })],
    check: 'gatewaysync/request-unhandled',
    says: /is not a time/,
  },
  {
    name: 'a rollout that waits for newer agents',
    change: [status(PLANT, rollout({ waitsFor: 'Agents' }))],
    check: 'rollout/agents',
    says: /waits for newer agents/,
    level: 'warning',
  },
  {
    name: 'a commit that was given up',
    change: [status(PLANT, rollout({ waitsFor: 'Retry' }))],
    check: 'rollout/retry',
    says: /not retried/,
    level: 'warning',
  },
  {
    name: 'a commit that waits for approval',
    change: [status(PLANT, rollout({ waitsFor: 'Approval', nextCommit: 'ab'.repeat(20) }))],
    check: 'rollout/next',
    says: /a newer commit, abababab, waits for approval/,
    level: 'warning',
  },
];

/** Faults of namespaces and GatewaySyncs. */
export const GATEWAY_FAULTS: readonly Fault[] = [...ofNamespaces, ...ofResources];
