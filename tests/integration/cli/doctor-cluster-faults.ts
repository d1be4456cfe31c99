import type { Fault } from './doctor-fault.ts';
import {
  at,
  CONTROLLER_ENV,
  deployment,
  GATEWAYS,
  microTime,
  RECEIVER_SECRET,
  SYSTEM,
  waiting,
} from './doctor-objects.ts';

export const CONTROLLER = `${at.deployments()}/stoker-operator`;
const RECEIVER = `${at.deployments()}/stoker-operator-receiver`;
const LEASE = `${at.leases}/${CONTROLLER_ENV.LEASE_NAME}`;

/** The container of a program with different variables. */
export const withEnv = (component: string, env: Record<string, string>) => ({
  spec: {
    template: {
      spec: {
        containers: [
          {
            name: component,
            image: `${component}:0.1.0`,
            env: Object.entries(env).map(([name, value]) => ({ name, value })),
          },
        ],
      },
    },
  },
});

export const slicesGone = (name: string) => ({
  patch: `${at.slices}/${name}`,
  with: { endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: false } }] },
});
const notAvailable = { status: { availableReplicas: 0, readyReplicas: 0 } };

/** Faults of the operator. */
export const CLUSTER_FAULTS: readonly Fault[] = [
  {
    name: 'an operator that is not installed',
    change: [{ remove: CONTROLLER }],
    check: 'operator/installed',
    says: /no controller of the operator is installed/,
  },
  {
    name: 'a controller that is scaled to 0',
    change: [{ patch: CONTROLLER, with: { spec: { replicas: 0 } } }],
    check: 'controller/ready',
    says: /scaled to 0/,
  },
  {
    name: 'a controller that ends again and again',
    change: [
      { patch: CONTROLLER, with: notAvailable, status: true },
      {
        patch: `${at.pods(SYSTEM)}/stoker-operator-0`,
        with: { status: { containerStatuses: [waiting('controller', 'CrashLoopBackOff')] } },
        status: true,
      },
    ],
    check: 'controller/ready',
    says: /no ready pods: .*CrashLoopBackOff/,
  },
  {
    name: 'a controller whose update hangs',
    change: [{ patch: CONTROLLER, with: { status: { updatedReplicas: 0 } }, status: true }],
    check: 'controller/ready',
    says: /1 of 1 pods ready, 0 updated/,
    level: 'warning',
  },
  {
    name: 'a Lease that nobody holds',
    change: [{ remove: LEASE }],
    check: 'operator/leader',
    says: /the Lease has no holder/,
  },
  {
    name: 'a leader that is gone',
    change: [
      {
        patch: LEASE,
        with: { spec: { renewTime: microTime(Date.now() - 600_000), leaseDurationSeconds: 15 } },
      },
    ],
    check: 'operator/leader',
    says: /stoker-operator-0_1 last renewed the Lease at/,
  },
  {
    name: 'a leader that is no pod of the operator',
    change: [{ patch: LEASE, with: { spec: { holderIdentity: 'laptop_1' } } }],
    check: 'operator/leader',
    says: /held by laptop_1/,
    level: 'warning',
  },
  {
    name: 'two controllers without an election',
    change: [
      { patch: CONTROLLER, with: { spec: { replicas: 2 } } },
      { patch: CONTROLLER, with: withEnv('controller', { ...CONTROLLER_ENV, LEADER_ELECTION: 'false' }) },
    ],
    check: 'operator/leader',
    says: /2 controllers lead at the same time/,
  },
  {
    name: 'two installations that watch the same namespaces',
    change: [{ add: at.deployments(GATEWAYS), object: deployment('second', 'controller', CONTROLLER_ENV) }],
    check: 'operator/several',
    says: /watch the same namespaces/,
  },
  {
    name: 'a receiver of another release',
    change: [{ patch: RECEIVER, with: { metadata: { labels: { 'app.kubernetes.io/version': '0.0.9' } } } }],
    check: 'receiver/version',
    says: /version of the receiver is 0\.0\.9, but the controller has 0\.1\.0/,
    level: 'warning',
  },
  {
    name: 'a receiver that is not ready',
    change: [{ patch: RECEIVER, with: notAvailable, status: true }],
    check: 'receiver/ready',
    says: /no ready pods/,
  },
  {
    name: 'a receiver without its Secret',
    change: [{ remove: `${at.secrets(SYSTEM)}/${RECEIVER_SECRET}` }],
    check: 'receiver/secret',
    says: /does not exist: the receiver cannot become ready/,
  },
  {
    name: 'a receiver whose Secret has another key',
    change: [
      {
        patch: `${at.secrets(SYSTEM)}/${RECEIVER_SECRET}`,
        with: { data: { 'webhook-secret': null, secret: 'eA==' } },
      },
    ],
    check: 'receiver/secret',
    says: /the key webhook-secret of the Secret .* is empty or missing/,
  },
  {
    name: 'a receiver that takes deliveries from anybody',
    change: [{ patch: RECEIVER, with: withEnv('receiver', {}) }],
    check: 'receiver/authentication',
    says: /accepts unauthenticated deliveries/,
    level: 'warning',
  },
  {
    name: 'a receiver without its Service',
    change: [{ remove: `${at.services}/stoker-operator-receiver` }],
    check: 'receiver/service',
    says: /the Service .* of the receiver is missing/,
  },
  {
    name: 'a Service of the receiver without pods',
    change: [slicesGone('stoker-operator-receiver')],
    check: 'receiver/service',
    says: /has no ready pods/,
  },
];
