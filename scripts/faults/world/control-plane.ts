import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiCall, CallError, callApi } from '../../testbed/call-api.ts';
import { startApiServer } from '../../testbed/control-plane.ts';
import { installCrds } from '../../testbed/install-crds.ts';

/** Logs who wrote a status, a Lease, or a RoleBinding, and when. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
  rules: [
    {
      level: 'Request',
      verbs: ['create', 'update'],
      resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }],
    },
    { level: 'Metadata', verbs: ['patch'], resources: [{ group: 'sync.io', resources: ['gatewaysyncs/status'] }] },
    { level: 'None' },
  ],
};

export type ControlPlane = Awaited<ReturnType<typeof startPlane>>;

/** Starts the API server and etcd, with operations of an administrator on them. */
export async function startPlane(directory: string) {
  const policy = path.join(directory, 'audit-policy.json');
  const auditLog = path.join(directory, 'audit.log');
  await writeFile(policy, JSON.stringify(auditPolicy));
  const server = await startApiServer(`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`);
  await installCrds(server);
  let isRestarting = false;

  /** Calls as administrator, without a proxy, and retries while the API server is unavailable. Throws `CallError`. */
  const ask = async <T>(call: ApiCall): Promise<T> => {
    for (const deadline = Date.now() + 120_000; ; await sleep(200)) {
      try {
        return await callApi<T>(server, call);
      } catch (error) {
        const isAnswer = error instanceof CallError && error.status < 500 && error.status !== 429;
        if (isAnswer || Date.now() > deadline) throw error;
      }
    }
  };
  return {
    server,
    auditLog,
    ask,
    /** Changes fields as one of several tools. */
    merge: async (path: string, body: object, fieldManager = 'kubectl-patch'): Promise<void> => {
      const query = { fieldManager };
      await ask({ method: 'PATCH', path, query, body, contentType: 'application/merge-patch+json' });
    },
    /** Deletes an object if it exists. */
    delete: async (path: string): Promise<void> => {
      await ask({ method: 'DELETE', path }).catch((error) => {
        if (!(error instanceof CallError && error.status === 404)) throw error;
      });
    },
    /** Kills the API server, and starts it again after a delay. */
    restart: async (downMs: number): Promise<void> => {
      if (isRestarting) return;
      isRestarting = true;
      await server.stopApiServer();
      await sleep(downMs);
      await server.startApiServer();
      isRestarting = false;
    },
  };
}
