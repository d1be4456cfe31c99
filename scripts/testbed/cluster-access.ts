import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { CallError, callApi, type ServerDetails } from './call-api.ts';
import { runCommand } from './run-command.ts';

/** The binaries of every control plane. */
type ControlPlaneBinary = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl';

/** Details of a whole control plane. */
export interface ClusterDetails extends ServerDetails {
  binaries: Record<ControlPlaneBinary, string>;
}

/** The account to issue a token for; `pod` binds the token to an existing pod. */
export interface Account {
  namespace: string;
  serviceAccount: string;
  pod?: string;
}

/** A running API server and operations on it. */
export interface ServerAccess extends ServerDetails {
  /**
   * Writes a kubeconfig with a new token of a ServiceAccount and returns its path; waits until the account exists. The
   * kubeconfig leads to `proxy`, if given.
   */
  kubeconfigFor(account: Account, proxy?: Pick<ServerDetails, 'url' | 'caFile'>): Promise<string>;
}

/** A running control plane and operations on it. */
export interface ClusterAccess extends ClusterDetails, ServerAccess {
  /** Runs kubectl as administrator and returns its stdout; throws `CommandError`. */
  kubectl(...args: string[]): Promise<string>;
  /** Does the same with `input` (YAML or an object) as the file `-`. */
  kubectlWith(input: string | object, ...args: string[]): Promise<string>;
}

let kubeconfigs = 0;

/** Adds the operations to the details of an API server. */
export function accessServer(details: ServerDetails): ServerAccess {
  return {
    ...details,
    kubeconfigFor: async (account, { url, caFile } = details) => {
      const token = await issueToken(details, account);
      const name = `${account.namespace}-${account.serviceAccount}-${process.pid}-${++kubeconfigs}.kubeconfig`;
      const { namespace } = account;
      return await writeKubeconfig(path.join(details.dir, name), { url, caFile, token, namespace });
    },
  };
}

/** Adds the operations to the details of a control plane. */
export function accessCluster(details: ClusterDetails): ClusterAccess {
  const run = (args: string[], input?: string) =>
    runCommand(details.binaries.kubectl, ['--kubeconfig', details.kubeconfig, ...args], {
      // kubectl caches discovery in the home directory, by host and port, and the next control plane may have the same port.
      env: { ...process.env, KUBECACHEDIR: path.join(details.dir, 'kubectl-cache') },
      ...(input !== undefined && { input }),
    });
  return {
    ...details,
    ...accessServer(details),
    kubectl: (...args) => run(args),
    kubectlWith: (input, ...args) => run(args, typeof input === 'string' ? input : JSON.stringify(input)),
  };
}

/** Requests a token for two hours (https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/). */
async function issueToken(server: ServerDetails, account: Account): Promise<string> {
  const boundObjectRef = account.pod && { apiVersion: 'v1', kind: 'Pod', name: account.pod };
  const body = { spec: { expirationSeconds: 7_200, ...(boundObjectRef && { boundObjectRef }) } };
  const path = `${corePath('serviceaccounts', account.namespace, account.serviceAccount)}/token`;
  for (const deadline = Date.now() + 60_000; ; await sleep(100)) {
    try {
      return (await callApi<{ status: { token: string } }>(server, { method: 'POST', path, body })).status.token;
    } catch (error) {
      if (!(error instanceof CallError && error.status === 404) || Date.now() > deadline) throw error;
    }
  }
}

/** Writes a kubeconfig with one token, readable only by its owner, and returns its path. */
export async function writeKubeconfig(
  file: string,
  { url, caFile, token, namespace = 'default' }: { url: string; caFile: string; token: string; namespace?: string },
): Promise<string> {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'testbed', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: 'testbed', user: { token } }],
    contexts: [{ name: 'testbed', context: { cluster: 'testbed', user: 'testbed', namespace } }],
    'current-context': 'testbed',
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}
