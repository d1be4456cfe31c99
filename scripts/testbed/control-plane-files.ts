import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createCertificates } from './certificates.ts';
import { writeKubeconfig } from './cluster-access.ts';

/** Files of a control plane, below its directory. */
export function controlPlaneFiles(dir: string) {
  const certificates = path.join(dir, 'certificates');
  return {
    certificates,
    ca: path.join(certificates, 'ca.crt'),
    certificate: path.join(certificates, 'server.crt'),
    key: path.join(certificates, 'server.key'),
    tokens: path.join(dir, 'tokens.csv'),
    serviceAccountKey: path.join(dir, 'service-account.key'),
    controllersKubeconfig: path.join(dir, 'controllers.kubeconfig'),
    adminKubeconfig: path.join(dir, 'kubeconfig'),
  };
}

/** Names and addresses of an API server, from here and from a pod. */
const HOSTS = ['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];

/**
 * Writes the credentials of the control plane: its certificate, static tokens, kubeconfigs with them, and the
 * ServiceAccount key. All keys are EC: the API server would create an RSA key, and sign with it for each connection.
 */
export async function createCredentials(dir: string, url: string): Promise<void> {
  const files = controlPlaneFiles(dir);
  const adminToken = randomBytes(16).toString('hex');
  const controllersToken = randomBytes(16).toString('hex');
  const tokens = [
    `${adminToken},admin,admin,system:masters`,
    `${controllersToken},system:kube-controller-manager,system:kube-controller-manager`,
  ];
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await mkdir(files.certificates);
  await Promise.all([
    createCertificates(files.certificates, HOSTS),
    writeFile(files.tokens, tokens.join('\n'), { mode: 0o600 }),
    writeFile(files.serviceAccountKey, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 }),
    writeKubeconfig(files.controllersKubeconfig, { url, caFile: files.ca, token: controllersToken }),
    writeKubeconfig(files.adminKubeconfig, { url, caFile: files.ca, token: adminToken }),
  ]);
}

/** Arguments of etcd. */
export function etcdArguments({ dir, port }: { dir: string; port: number }): string[] {
  const url = `http://127.0.0.1:${port}`;
  return [
    `--data-dir=${path.join(dir, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    // A single member has no peers, so any port will do.
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

/** Arguments of kube-apiserver, with its default admission plugins, webhooks and ValidatingAdmissionPolicy included. */
export function apiServerArguments(options: { dir: string; port: number; etcdPort: number }): string[] {
  const files = controlPlaneFiles(options.dir);
  return [
    `--etcd-servers=http://127.0.0.1:${options.etcdPort}`,
    '--bind-address=127.0.0.1',
    // The Service `kubernetes` isn't used here, and from 1.37 on it doesn't accept an address of this machine.
    '--endpoint-reconciler-type=none',
    '--advertise-address=127.0.0.1',
    `--secure-port=${options.port}`,
    `--tls-cert-file=${files.certificate}`,
    `--tls-private-key-file=${files.key}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--profiling=false',
  ];
}

/**
 * Controllers without work here: there are no volumes, devices, quotas, certificate requests, or metrics.
 * Each would create its own account and watch its resources; the quota controller watches all resources.
 */
const IDLE = [
  'resourcequota-controller',
  'horizontal-pod-autoscaler-controller',
  'ttl-after-finished-controller',
  'ttl-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-binder-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
  'ephemeral-volume-controller',
  'resourceclaim-controller',
  'certificatesigningrequest-approving-controller',
  'certificatesigningrequest-cleaner-controller',
  'certificatesigningrequest-signing-controller',
  'endpointslice-mirroring-controller',
];

/** Arguments of kube-controller-manager: the default controllers except those that only cost CPU time here. */
export function controllerManagerArguments(dir: string): string[] {
  const files = controlPlaneFiles(dir);
  return [
    `--kubeconfig=${files.controllersKubeconfig}`,
    `--authentication-kubeconfig=${files.controllersKubeconfig}`,
    `--authorization-kubeconfig=${files.controllersKubeconfig}`,
    '--use-service-account-credentials',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    '--leader-elect=false',
    `--controllers=${['*', ...IDLE.map((name) => `-${name}`)].join(',')}`,
    // Each controller requests its own account, one call at a time. At the default of 20 a second, this delays the start.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--secure-port=0',
    '--profiling=false',
  ];
}
