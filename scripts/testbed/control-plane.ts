import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiRequest } from './api-request.ts';
import { accessCluster, type ClusterAccess, type ClusterDetails, type ControlPlaneBinary } from './cluster-access.ts';
import { apiServerArguments, controllerManagerArguments, etcdArguments } from './control-plane-arguments.ts';
import { type Credentials, createCredentials } from './control-plane-credentials.ts';
import { findBinaries } from './find-binaries.ts';
import { freePort } from './free-port.ts';
import { type GuardedProcess, startGuarded, tailOf } from './guarded-process.ts';
import { makeTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** Further command-line arguments of the API server and the controllers; they win over ours. */
export interface ControlPlaneOptions {
  apiServerArgs?: string[];
  controllerManagerArgs?: string[];
}

/** A control plane that this process owns: it ends when the process ends, however that happens. */
export interface ControlPlane extends ClusterAccess {
  /** Kills the API server; etcd and the controllers stay. */
  stopApiServer(): Promise<void>;
  /** Starts the API server again, on the same port with the same data; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /** Ends all processes and removes the folder. */
  stop(): Promise<void>;
}

const readyWithinMs = 60_000;

/** Starts etcd, kube-apiserver and kube-controller-manager on free loopback ports; resolves when the namespace `default` can be used. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await findBinaries('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl');
  const processes = new Processes(await makeTemporaryFolder('control-plane-'), binaries);
  try {
    return await start(processes, options);
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

async function start(processes: Processes, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { dir, binaries } = processes;
  const [etcdPort, port] = [await freePort(), await freePort()];
  const url = `https://127.0.0.1:${port}`;
  const credentials = await createCredentials(dir, url);
  const details: ClusterDetails = {
    dir,
    url,
    caFile: credentials.caFile,
    kubeconfig: credentials.adminKubeconfig,
    binaries,
  };
  const apiServer = [...apiServerArguments({ dir, port, etcdPort }), ...(options.apiServerArgs ?? [])];
  const controllers = [...controllerManagerArguments(dir), ...(options.controllerManagerArgs ?? [])];
  const isReady = (request: string) => () => answers(new URL(request, url), credentials);

  processes.start('etcd', etcdArguments({ dir, port: etcdPort }));
  processes.start('kube-apiserver', apiServer);
  await processes.until(isReady('/readyz'), 'kube-apiserver');
  processes.start('kube-controller-manager', controllers);
  // Pods are refused until the controllers have made this account.
  await processes.until(isReady('/api/v1/namespaces/default/serviceaccounts/default'), 'kube-controller-manager');

  return {
    ...accessCluster(details),
    stopApiServer: () => processes.kill('kube-apiserver'),
    startApiServer: async () => {
      processes.start('kube-apiserver', apiServer);
      await processes.until(isReady('/readyz'), 'kube-apiserver');
    },
    stop: () => processes.stop(),
  };
}

async function answers(url: URL, { caFile, adminToken }: Credentials): Promise<boolean> {
  return (await apiRequest(url, { caFile, token: adminToken }))?.status === 200;
}

class Processes {
  readonly dir: string;
  readonly #folder: TemporaryFolder;
  readonly binaries: Record<ControlPlaneBinary, string>;
  readonly #running = new Map<ControlPlaneBinary, GuardedProcess>();

  constructor(folder: TemporaryFolder, binaries: Record<ControlPlaneBinary, string>) {
    this.#folder = folder;
    this.dir = folder.path;
    this.binaries = binaries;
  }

  start(name: ControlPlaneBinary, args: string[]): void {
    if (this.#running.get(name)?.hasExited() === false) throw new Error(`${name} is already running`);
    const started = startGuarded(this.binaries[name], args, {
      output: { log: this.#log(name) },
      cwd: this.dir,
    });
    this.#running.set(name, started);
  }

  async kill(name: ControlPlaneBinary): Promise<void> {
    await this.#running.get(name)?.stop(0);
  }

  /** Waits for a condition that the named process brings about; fails as soon as any of the processes has ended. */
  async until(condition: () => Promise<boolean>, name: ControlPlaneBinary): Promise<void> {
    const deadline = Date.now() + readyWithinMs;
    while (!(await condition())) {
      for (const [other, { hasExited }] of this.#running) {
        if (hasExited()) throw new Error(`${other} ended. The end of its log:\n${await tailOf(this.#log(other))}`);
      }
      if (Date.now() > deadline) {
        throw new Error(`${name}: not ready within ${readyWithinMs} ms. Its log:\n${await tailOf(this.#log(name))}`);
      }
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((running) => running.stop(0)));
    await this.#folder.remove();
  }

  #log(name: ControlPlaneBinary): string {
    return path.join(this.dir, `${name}.log`);
  }
}
