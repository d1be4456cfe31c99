import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isServed } from './call-api.ts';
import { accessCluster, accessServer, type ClusterAccess, type ServerAccess } from './cluster-access.ts';
import {
  apiServerArguments,
  controllerManagerArguments,
  controlPlaneFiles,
  createCredentials,
  etcdArguments,
} from './control-plane-files.ts';
import { type Binaries, findBinaries } from './find-binaries.ts';
import { freePort } from './free-port.ts';
import { type GuardedProcess, startGuarded, tailOf } from './guarded-process.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from './temporary-directory.ts';

/** An API server with its etcd, owned by this process: they end when the process ends, for any reason. */
export interface ApiServer extends ServerAccess {
  /** Kills the API server; etcd, and the controllers if there are any, continue. */
  stopApiServer(): Promise<void>;
  /** Starts the API server again, on the same port with the same data; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /** Stops etcd (SIGSTOP), so that the API server waits for it, or continues it. */
  holdEtcd(isHeld: boolean): void;
  /** Restarts etcd and the API server; calls the function with the directory of etcd's data while both are down. */
  restart(whileDown: (data: string) => Promise<void>): Promise<void>;
  /** Ends all processes and removes the directory. */
  stop(): Promise<void>;
}

/** An API server with the controllers and kubectl. */
export interface ControlPlane extends ApiServer, ClusterAccess {}

/** Ends a start that hangs; generous because the machine may be busy. */
const readyWithinMs = 120_000;

/** Go collects garbage less often, up to a memory limit: collection takes a quarter of an API server's CPU time. */
const garbageCollection = { GOGC: '400', GOMEMLIMIT: '2GiB' };

/**
 * Starts etcd and kube-apiserver on free loopback ports without controllers: there are no default ServiceAccounts, no
 * garbage collection, and namespaces aren't emptied. More arguments of the API server override ours.
 */
export async function startApiServer(...args: string[]): Promise<ApiServer> {
  const binaries = await findBinaries('etcd', 'kube-apiserver');
  return await inProcesses((processes) => startServer(processes, binaries, args));
}

/** Starts an API server and kube-controller-manager; resolves when the namespace `default` is usable. */
export async function startControlPlane(...args: string[]): Promise<ControlPlane> {
  const binaries = await findBinaries('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl');
  return await inProcesses(async (processes) => {
    const server = await startServer(processes, binaries, args);
    processes.start(binaries['kube-controller-manager'], controllerManagerArguments(server.dir));
    // Pods are refused until the controllers have created this account.
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    await processes.until(() => isServed(server, account), 'kube-controller-manager');
    return { ...server, ...accessCluster({ ...server, binaries }) };
  });
}

async function inProcesses<T>(start: (processes: Processes) => Promise<T>): Promise<T> {
  const processes = new Processes(await makeTemporaryDirectory('control-plane-'));
  try {
    return await start(processes);
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

async function startServer(
  processes: Processes,
  binaries: Binaries<'etcd' | 'kube-apiserver'>,
  args: string[],
): Promise<ApiServer> {
  const dir = processes.directory.path;
  const etcdPort = await freePort();
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const { ca: caFile, adminKubeconfig: kubeconfig } = controlPlaneFiles(dir);
  const details = { dir, url, caFile, kubeconfig };
  await createCredentials(dir, url);
  const startKubeApiServer = async () => {
    processes.start(binaries['kube-apiserver'], [...apiServerArguments({ dir, port, etcdPort }), ...args]);
    await processes.until(() => isServed(details, '/readyz'), 'kube-apiserver');
  };
  const start = async () => {
    processes.start(binaries.etcd, etcdArguments({ dir, port: etcdPort }));
    await startKubeApiServer();
  };
  await start();
  return {
    ...accessServer(details),
    stopApiServer: () => processes.kill('kube-apiserver'),
    startApiServer: startKubeApiServer,
    restart: async (whileDown) => {
      for (const name of ['kube-apiserver', 'etcd']) await processes.kill(name);
      await whileDown(path.join(dir, 'etcd'));
      await start();
    },
    holdEtcd: (isHeld) => processes.signal('etcd', isHeld ? 'SIGSTOP' : 'SIGCONT'),
    stop: () => processes.stop(),
  };
}

/** The processes of a control plane, by the name of their binary. */
class Processes {
  readonly directory: TemporaryDirectory;
  readonly #running = new Map<string, GuardedProcess>();

  constructor(directory: TemporaryDirectory) {
    this.directory = directory;
  }

  start(binary: string, args: string[]): void {
    const name = path.basename(binary);
    if (this.#running.get(name)?.hasExited() === false) throw new Error(`${name} is already running`);
    const env = { ...process.env, ...garbageCollection };
    const options = { output: { log: this.#log(name) }, cwd: this.directory.path, env };
    this.#running.set(name, startGuarded(binary, args, options));
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#running.get(name)?.child.kill(signal);
  }

  async kill(name: string): Promise<void> {
    await this.#running.get(name)?.stop(0);
  }

  /** Waits for a condition that the named process fulfils; fails as soon as any of the processes has ended. */
  async until(condition: () => Promise<boolean>, name: string): Promise<void> {
    const deadline = Date.now() + readyWithinMs;
    while (!(await condition())) {
      const [ended] = [...this.#running].find(([, { hasExited }]) => hasExited()) ?? [];
      if (ended ?? Date.now() > deadline) {
        const problem = ended ? `${ended} ended` : `${name}: not ready within ${readyWithinMs} ms`;
        throw new Error(`${problem}. The end of its log:\n${await tailOf(this.#log(ended ?? name))}`);
      }
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((running) => running.stop(0)));
    await this.directory.remove();
  }

  #log(name: string): string {
    return path.join(this.directory.path, `${name}.log`);
  }
}
