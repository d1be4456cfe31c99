import type { Fault } from './doctor-fault.ts';
import { annotate, asks, status } from './doctor-gateway-faults.ts';
import { at, GATEWAYS, gateway, reportOf, resource, waiting } from './doctor-objects.ts';

const POD = `${at.pods()}/plant-0`;
const REPORT = `${at.reports()}/plant-0`;

const report = (value: object) => [{ patch: REPORT, with: { status: value } }];
const container = (name: string, reason: string) => [status(POD, { containerStatuses: [waiting(name, reason)] })];

/** A pod without the sidecar. */
const bare = (name: string, annotations: Record<string, string>) => ({
  metadata: { name, annotations },
  spec: { securityContext: { runAsUser: 1 }, containers: [{ name: 'gateway', image: 'x' }] },
});
/** Faults of pods and in the reports of their agents. */
export const POD_FAULTS: readonly Fault[] = [
  {
    name: 'an annotation that is spelled differently',
    change: [annotate(POD, { 'sync.io/inject': 'True' })],
    check: 'pod/inject',
    says: /ignored, because its value is "True"/,
  },
  {
    name: 'a pod that names a GatewaySync and does not ask for the sidecar',
    change: [{ add: at.pods(), object: bare('half', { 'sync.io/cr-name': 'plant' }) }],
    check: 'pod/inject',
    says: /but not sync\.io\/inject/,
  },
  {
    name: 'a pod that names none of several GatewaySyncs',
    change: [
      annotate(POD, { 'sync.io/cr-name': null }),
      { add: at.gatewaySyncs(), object: resource(GATEWAYS, 'shop') },
    ],
    check: 'pod/cr-name',
    says: /the namespace has several GatewaySyncs/,
  },
  {
    name: 'a pod that names a GatewaySync which does not exist',
    change: [annotate(POD, { 'sync.io/cr-name': 'palnt' })],
    check: 'pod/cr-name',
    says: /GatewaySync palnt not found/,
  },
  {
    name: 'a pod that names a profile which does not exist',
    change: [annotate(POD, { 'sync.io/profile': 'line-2' })],
    check: 'pod/profile',
    says: /has no profile line-2/,
  },
  {
    name: 'a pod without the sidecar',
    change: [{ add: at.pods(), object: bare('late', asks) }],
    check: 'pod/sidecar',
    says: /injection was unavailable when it was created/,
  },
  {
    name: 'a pod in a namespace that injection leaves out',
    change: [{ add: at.pods('skipped'), object: bare('late', { 'sync.io/inject': 'true' }) }],
    line: ['-n', 'skipped'],
    check: 'pod/sidecar',
    says: /injection excludes its namespace/,
  },
  {
    name: 'a namespace that injection leaves out',
    change: [{ add: at.pods('skipped'), object: bare('late', { 'sync.io/inject': 'true' }) }],
    line: ['-n', 'skipped'],
    check: 'namespace/injection',
    says: /excludes skipped, although 1 pod is annotated/,
  },
  {
    name: 'a sidecar of another release',
    change: [{ add: at.pods(), object: sidecarOf('old', 'agent:0') }],
    check: 'pod/agent-image',
    says: /its sidecar is agent:0, .* injects agent:1/,
    level: 'warning',
  },
  {
    name: 'an image that cannot be pulled',
    change: container('sync-agent', 'ImagePullBackOff'),
    check: 'pod/container/ImagePullBackOff',
    says: /container sync-agent is waiting: ImagePullBackOff/,
  },
  {
    name: 'a gateway that ends again and again',
    change: container('gateway', 'CrashLoopBackOff'),
    check: 'pod/container/CrashLoopBackOff',
    says: /container gateway is waiting: CrashLoopBackOff \(exit code 1\)/,
  },
  {
    name: 'a pod for which no node has room',
    change: [
      status(POD, { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }] }),
    ],
    check: 'pod/container/Unschedulable',
    says: /no node accepts it: 0\/3 nodes/,
  },
  {
    name: 'a gateway that needs more memory',
    change: [
      status(POD, {
        containerStatuses: [
          { ...waiting('gateway', ''), state: {}, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } },
        ],
      }),
    ],
    check: 'pod/container/OOMKilled',
    says: /exceeded its memory limit/,
  },
  {
    name: 'a gateway that is not ready',
    change: [status(POD, { conditions: [{ type: 'Ready', status: 'False', message: 'unready: [gateway]' }] })],
    check: 'pod/ready',
    says: /not ready: unready: \[gateway\]/,
    level: 'warning',
  },
  {
    name: 'a pod that no node runs',
    change: [status(POD, { phase: 'Pending', conditions: [] })],
    check: 'pod/ready',
    says: /not started/,
    level: 'warning',
  },
  {
    name: 'a gateway whose image is being pulled',
    change: [
      status(POD, {
        phase: 'Pending',
        conditions: [{ type: 'Ready', status: 'False', message: 'containers with unready status: [gateway]' }],
        initContainerStatuses: [{ ...waiting('sync-agent', ''), ready: true, state: { running: {} } }],
        containerStatuses: [waiting('gateway', 'ContainerCreating')],
      }),
    ],
    check: 'pod/ready',
    says: /the container gateway is being created/,
    level: 'warning',
  },
  {
    name: 'a pod that says no user',
    change: [{ add: at.pods(), object: sidecarOf('nobody', 'agent:1', {}) }],
    check: 'pod/run-as-user',
    says: /sets neither a user nor a group/,
    level: 'warning',
  },
  {
    name: 'an agent that has not reported',
    change: [{ remove: REPORT }],
    check: 'report/there',
    says: /has not reported/,
    level: 'warning',
  },
  {
    name: 'a report of an earlier pod',
    change: [{ remove: REPORT }, { add: at.reports(), object: reportOf('plant-0', 'another') }],
    check: 'report/pod',
    says: /from an earlier pod/,
    level: 'warning',
  },
  {
    name: 'an agent that follows another GatewaySync',
    change: report({ crName: 'shop' }),
    check: 'report/gatewaysync',
    says: /follows GatewaySync shop, but the pod specifies plant/,
  },
  {
    name: 'a gateway that is not well',
    change: report({ verification: 'Failed', message: 'answers 500' }),
    check: 'report/verification',
    says: /failed the verification of c0ffee11: answers 500/,
  },
  {
    name: 'an agent with an error',
    change: report({ state: 'Error', message: 'the volume is full' }),
    check: 'report/error',
    says: /reports an error: the volume is full/,
  },
  {
    name: 'a commit that cannot be brought in place',
    change: report({ hasFailed: true, message: 'a link leads outside' }),
    check: 'report/failed',
    says: /cannot deliver the commit: a link leads outside/,
  },
  ...(['Paused', 'DryRun'] as const).map(
    (state): Fault => ({
      name: `a gateway in the state ${state}`,
      change: report({ state }),
      check: state === 'Paused' ? 'report/paused' : 'report/dry-run',
      level: 'warning',
      says: /files do not change|only reports/,
    }),
  ),
  {
    name: 'a gateway that is behind',
    change: report({ commit: 'ab'.repeat(20) }),
    check: 'report/behind',
    says: /it has abababab and is updating/,
    level: 'warning',
  },
];

function sidecarOf(name: string, image: string, securityContext: object = { runAsUser: 1 }) {
  const pod = gateway(GATEWAYS, name);
  const initContainers = [{ name: 'sync-agent', image, restartPolicy: 'Always' }];
  return { ...pod, spec: { ...pod.spec, securityContext, initContainers } };
}
