import type { Change, Fault } from './doctor-fault.ts';
import { asks } from './doctor-gateway-faults.ts';
import { at, GATEWAYS, SYSTEM } from './doctor-objects.ts';

const BINDING = `${at.roleBindings}/sync-agent-plant`;

/** A Deployment with annotated pods, and the API server's message about the last one. */
const refused = (message: string): Change[] => [
  {
    add: at.deployments(GATEWAYS),
    object: {
      metadata: { name: 'till' },
      spec: {
        selector: { matchLabels: { app: 'till' } },
        template: {
          metadata: { labels: { app: 'till' }, annotations: asks },
          spec: { containers: [{ name: 'gateway', image: 'x' }] },
        },
      },
    },
  },
  event('refused', { kind: 'ReplicaSet', name: 'till-5d9f', reason: 'FailedCreate', message }),
];

function event(name: string, fields: { kind: string; name: string; reason: string; message: string }): Change {
  const involvedObject = { kind: fields.kind, name: fields.name, namespace: GATEWAYS };
  const object = {
    metadata: { name },
    involvedObject,
    reason: fields.reason,
    message: fields.message,
    type: 'Warning',
  };
  return { add: at.events, object };
}

const binding = (roleKind: string, namespace: string): Change[] => [
  { remove: BINDING },
  {
    add: at.roleBindings,
    object: {
      metadata: { name: 'by-hand' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: roleKind, name: 'sync-agent' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
    },
  },
];

/** Faults caused by other components: rejected pods, unavailable volumes, and permissions granted manually. */
export const REFUSED_FAULTS: readonly Fault[] = [
  {
    name: 'pods for which there is no quota',
    change: refused('Error creating: pods "till-5d9f-x" is forbidden: exceeded quota: compute, used: pods=1'),
    check: 'namespace/denied',
    says: /^pods of ReplicaSet till-5d9f are denied: pods .* exceeded quota: compute/,
  },
  {
    name: 'pods that PodSecurity refuses',
    change: refused('Error creating: pods "till-5d9f-x" is forbidden: violates PodSecurity "restricted:latest": root'),
    check: 'namespace/denied',
    says: /till-5d9f are denied: .* violates PodSecurity "restricted:latest"/,
  },
  {
    name: 'a strict webhook with the CA of somebody else',
    change: [
      event('refused', {
        kind: 'StatefulSet',
        name: 'other',
        reason: 'FailedCreate',
        message: 'Internal error occurred: failed calling webhook "inject.sync.io": x509: unknown authority',
      }),
    ],
    check: 'namespace/denied',
    says: /StatefulSet other are denied: .*failed calling webhook .*x509/,
  },
  {
    name: 'a pod whose volume cannot be attached',
    change: [
      event('volume', {
        kind: 'Pod',
        name: 'plant-0',
        reason: 'FailedAttachVolume',
        message: 'Multi-Attach error for volume "pvc-1"',
      }),
      {
        patch: `${at.pods()}/plant-0`,
        with: { status: { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] } },
        status: true,
      },
    ],
    check: 'pod/volume/FailedAttachVolume',
    says: /waiting for a volume: Multi-Attach error/,
  },
  {
    name: 'a container that ended and stays so',
    change: [
      {
        patch: `${at.pods()}/plant-0`,
        with: {
          status: {
            conditions: [{ type: 'Ready', status: 'False' }],
            containerStatuses: [
              {
                name: 'gateway',
                image: 'x',
                imageID: '',
                ready: false,
                restartCount: 0,
                state: { terminated: { exitCode: 3, reason: 'Error', message: 'no license' } },
              },
            ],
          },
        },
        status: true,
      },
    ],
    check: 'pod/container/Error',
    says: /container gateway exited with code 3: no license/,
  },
  {
    name: 'a RoleBinding for an account of another namespace',
    change: binding('ClusterRole', SYSTEM),
    check: 'namespace/role-binding',
    says: /no RoleBinding for agents with the ServiceAccount default/,
  },
  {
    name: 'a RoleBinding to a Role instead of the ClusterRole',
    change: binding('Role', GATEWAYS),
    check: 'namespace/role-binding',
    says: /no RoleBinding for agents with the ServiceAccount default/,
  },
  {
    name: 'a binding of the receiver for another account',
    change: [
      {
        patch: `${at.clusterRoleBindings}/stoker-operator-receiver`,
        with: { subjects: [{ kind: 'ServiceAccount', name: 'receiver', namespace: SYSTEM }] },
      },
    ],
    check: 'namespace/receiver-rights',
    says: /the receiver stoker-operator-receiver is not allowed to annotate/,
  },
];
