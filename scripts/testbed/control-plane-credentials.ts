import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createCertificates } from './certificates.ts';
import { writeKubeconfig } from './cluster-access.ts';
import { controlPlaneFiles } from './control-plane-arguments.ts';

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
