import type { Level } from '../../../cli/checks/finding.ts';
import { makeAuthority, makeServingCertificate } from '../../../controller/certificates/make-certificate.ts';
import {
  at,
  CONTROLLER_ENV,
  deployment,
  GATEWAYS,
  POD_NAME,
  RECEIVER_SECRET,
  resource,
  SYSTEM,
  webhookConfiguration,
} from './doctor-objects.ts';
import type { Change } from './doctor-world.ts';

/** A fault and its expected finding. */
export interface Fault {
  name: string;
  change: Change[];
  check: string;
  /** If omitted, `failed`. */
  level?: Level;
  /** Text of the finding, if other faults have the same check and level. */
  text?: string;
  /** Additional arguments. */
  line?: string[];
}

const CONTROLLER = `${at.deployments()}/stoker-operator`;
const LEASE = `${at.leases}/${CONTROLLER_ENV.LEASE_NAME}`;
const RECEIVER = `${at.secrets(SYSTEM)}/${RECEIVER_SECRET}`;
const REPORT = `${at.reports}/${POD_NAME}`;
const ANNOTATIONS = { 'sync.io/inject': 'true', 'sync.io/cr-name': 'plant' };

const CERTIFICATE = 'stoker-operator-webhook-tls';
const CERTIFICATE_VOLUME = { name: 'webhook-certs', secret: { secretName: CERTIFICATE } };
const OF_ANOTHER_CA = makeServingCertificate(
  makeAuthority(Date.now()),
  [`stoker-operator-webhook.${SYSTEM}.svc`],
  Date.now(),
).certificate;

const named = (name: string) => ({ metadata: { name } });

/** A Deployment with annotations that its pods don't inherit. */
const till = (annotations: Record<string, string>) => ({
  metadata: { name: 'till', annotations },
  spec: {
    selector: { matchLabels: { app: 'till' } },
    template: { metadata: { labels: { app: 'till' } }, spec: { containers: [{ name: 'gateway', image: 'x' }] } },
  },
});

const DENIAL = {
  metadata: { name: 'warning' },
  involvedObject: { kind: 'ReplicaSet', name: 'till-1', namespace: GATEWAYS },
  reason: 'FailedCreate',
  type: 'Warning',
  message: 'sync agent: no such GatewaySync',
};

const EGRESS = { podSelector: {}, policyTypes: ['Egress'] };

/** Status of a pod whose container restarts repeatedly, as the kubelet reports it. */
const WAITING = { state: { waiting: { reason: 'CrashLoopBackOff' } } };
const CRASHING = {
  containerStatuses: [{ name: 'controller', image: 'x', imageID: '', ready: false, restartCount: 3, ...WAITING }],
};

/**
 * Faults that show what `doctor` reads: a healthy installation shows which objects it finds, and the unit tests cover the
 * checks.
 */
export const FAULTS: readonly Fault[] = [
  {
    name: 'a controller that restarts repeatedly',
    change: [
      { patch: CONTROLLER, with: { status: { availableReplicas: 0, readyReplicas: 0 } }, status: true },
      { patch: `${at.pods(SYSTEM)}/stoker-operator-0`, with: { status: CRASHING }, status: true },
    ],
    check: 'controller/ready',
    text: 'CrashLoopBackOff',
  },
  { name: 'a missing Lease', change: [{ remove: LEASE }], check: 'operator/leader' },
  {
    name: 'an installation in another namespace',
    change: [{ add: at.deployments(GATEWAYS), object: deployment('second', 'controller', CONTROLLER_ENV) }],
    check: 'operator/several',
  },
  { name: 'a missing Secret of the receiver', change: [{ remove: RECEIVER }], check: 'receiver/secret' },
  {
    name: 'a certificate of another CA',
    change: [
      { patch: CONTROLLER, with: { spec: { template: { spec: { volumes: [CERTIFICATE_VOLUME] } } } } },
      { add: at.secrets(SYSTEM), object: { ...named(CERTIFICATE), stringData: { 'tls.crt': OF_ANOTHER_CA } } },
    ],
    check: 'webhook/certificate',
  },
  {
    name: 'a webhook whose operator was deleted with its namespace',
    change: [
      { remove: CONTROLLER },
      { patch: `${at.webhooks}/stoker-operator-webhook`, with: webhookConfiguration('LS0tLS1CRUdJTg==', 'deleted') },
    ],
    check: 'webhook/service',
  },
  {
    name: 'a NetworkPolicy with the default policyTypes for the controller',
    change: [{ add: at.networkPolicies(SYSTEM), object: { ...named('deny'), spec: { podSelector: {} } } }],
    check: 'webhook/network-policy',
    level: 'warning',
  },
  { name: 'a missing namespace', change: [], line: ['-n', 'nowhere'], check: 'namespace/there' },
  {
    name: 'annotations on a Deployment instead of its pods',
    change: [{ add: at.deployments(GATEWAYS), object: till(ANNOTATIONS) }],
    check: 'namespace/workload',
  },
  { name: 'an event about rejected pods', change: [{ add: at.events, object: DENIAL }], check: 'namespace/denied' },
  {
    name: 'a NetworkPolicy for the egress of gateways',
    change: [{ add: at.networkPolicies(), object: { ...named('deny'), spec: EGRESS } }],
    check: 'namespace/network-policy',
    level: 'warning',
  },
  {
    name: 'a GatewaySync with the default status of the CRD',
    change: [{ add: at.gatewaySyncs, object: { ...resource('unseen'), status: undefined } }],
    check: 'gatewaysync/seen',
    level: 'warning',
  },
  {
    name: 'a report from the future',
    change: [{ patch: REPORT, with: { status: { reportedAt: new Date(Date.now() + 20 * 60_000).toISOString() } } }],
    check: 'report/clock',
    level: 'warning',
  },
];
