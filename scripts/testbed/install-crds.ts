import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { clientOf } from './client-of.ts';
import { serverSideApply } from './server-side-apply.ts';

const directory = path.join(import.meta.dirname, '../../chart/crds');

const CRDS_PATH = groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions');

/** The parts of a CustomResourceDefinition that are needed here. */
interface Definition {
  metadata: { name: string };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Installs the CRDs of the checkout with a kubeconfig, and waits for at most a minute until they are served. */
export async function installCrds({ kubeconfig }: { kubeconfig: string }): Promise<void> {
  const client = clientOf(kubeconfig, { userAgent: 'testbed' });
  await Promise.all((await readdir(directory)).map((file) => installCrd(client, path.join(directory, file))));
  client.close();
}

async function installCrd(client: KubernetesClient, file: string): Promise<void> {
  const definition = parse(await readFile(file, 'utf8')) as Definition;
  const { name } = definition.metadata;
  const at = `${CRDS_PATH}/${name}`;
  await serverSideApply(client, at, definition, { fieldManager: 'testbed' });
  for (const deadline = Date.now() + 60_000; !isEstablished(await client.get<Definition>(at)); ) {
    if (Date.now() > deadline) throw new Error(`The CRD ${name} is not served after a minute.`);
    await sleep(100);
  }
}

function isEstablished({ status }: Definition): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True') ?? false
  );
}
