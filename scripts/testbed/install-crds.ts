import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { clientOf } from './client-of.ts';
import { serverSideApply } from './server-side-apply.ts';

const folder = path.join(import.meta.dirname, '../../chart/crds');

/** Path of CRDs. */
export const CRDS_PATH = groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions');

/** The parts of a CustomResourceDefinition that matter here. */
export interface Definition {
  metadata: { name: string };
  spec: { versions: { name: string; served: boolean }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Installs the CRDs of the checkout, as a kubeconfig allows, and waits until they are served, for a minute at most. */
export async function installCrds({ kubeconfig }: { kubeconfig: string }): Promise<void> {
  const client = clientOf(kubeconfig, { userAgent: 'testbed' });
  await Promise.all((await readCrds()).map((definition) => installCrd(client, definition)));
  client.close();
}

/** The CRDs of the checkout. */
export async function readCrds(): Promise<Definition[]> {
  const files = (await readdir(folder)).map((file) => readFile(path.join(folder, file), 'utf8'));
  return (await Promise.all(files)).map((text) => parse(text) as Definition);
}

async function installCrd(client: KubernetesClient, definition: Definition): Promise<void> {
  const { name } = definition.metadata;
  await serverSideApply(client, `${CRDS_PATH}/${name}`, definition, { fieldManager: 'testbed' });
  await untilServed(client, name);
}

/** Waits until a CRD is served, for a minute at most. */
export async function untilServed(client: KubernetesClient, name: string, signal?: AbortSignal): Promise<void> {
  const at = `${CRDS_PATH}/${name}`;
  for (const deadline = Date.now() + 60_000; !isEstablished(await client.get<Definition>(at)); ) {
    if (Date.now() > deadline) throw new Error(`The CRD ${name} is not served after a minute.`);
    await sleep(100, undefined, { signal });
  }
}

/** Whether the API server has begun to serve a CRD: it does not go back on that. */
export function isEstablished({ status }: Definition): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True') ?? false
  );
}
