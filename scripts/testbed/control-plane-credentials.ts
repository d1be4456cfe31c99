import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { writeKubeconfig } from './cluster-access.ts';
import { controlPlaneFiles } from './control-plane-arguments.ts';

/** How to talk to the control plane as administrator. */
export interface Credentials {
  caFile: string;
  adminToken: string;
  adminKubeconfig: string;
}

/** Writes what the control plane authenticates with: static tokens, kubeconfigs that hold them, the ServiceAccount key. */
export async function createCredentials(dir: string, url: string): Promise<Credentials> {
  const files = controlPlaneFiles(dir);
  const [adminToken, controllersToken] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const tokens = [
    `${adminToken},admin,admin,system:masters`,
    `${controllersToken},system:kube-controller-manager,system:kube-controller-manager`,
  ];
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await Promise.all([
    writeFile(files.tokens, tokens.join('\n'), { mode: 0o600 }),
    writeFile(files.serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 }),
    writeKubeconfig(files.controllersKubeconfig, { url, caFile: files.ca, token: controllersToken }),
    writeKubeconfig(files.adminKubeconfig, { url, caFile: files.ca, token: adminToken }),
  ]);
  return { caFile: files.ca, adminToken, adminKubeconfig: files.adminKubeconfig };
}
