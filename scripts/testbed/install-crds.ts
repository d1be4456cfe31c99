import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { clientOf } from './client-of.ts';
import { serverSideApply } from './server-side-apply.ts';

const folder = path.join(import.meta.dirname, '../../chart/crds');

/** The parts of a CustomResourceDefinition that matter here. */
interface Definition {
  metadata: { name: string };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Installs the CRDs of the checkout, as a kubeconfig allows, and waits until they are served, for a minute at most. */
export async function installCrds({ kubeconfig }: { kubeconfig: string }): Promise<void> {
  const client = clientOf(kubeconfig, { userAgent: 'testbed' });
  const files = (await readdir(folder)).map((file) => readFile(path.join(folder, file), 'utf8'));
  await Promise.all((await Promise.all(files)).map((text) => installCrd(client, parse(text) as Definition)));
  client.close();
}

async function installCrd(client: KubernetesClient, definition: Definition): Promise<void> {
  const { name } = definition.metadata;
  const at = groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions', undefined, name);
  await serverSideApply(client, at, definition, { fieldManager: 'testbed' });
  for (const deadline = Date.now() + 60_000; !isEstablished(await client.get<Definition>(at)); await sleep(100)) {
    if (Date.now() > deadline) throw new Error(`The CRD ${name} is not served after a minute.`);
  }
}

function isEstablished({ status }: Definition): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True') ?? false
  );
}
