import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type ApiObject, applyObject } from './apply-object.ts';
import { callApi, type ServerDetails } from './call-api.ts';
import { until } from './until.ts';

const directory = path.join(import.meta.dirname, '../../chart/crds');

/** The parts of a CustomResourceDefinition that are needed here. */
interface Definition extends ApiObject {
  status?: { conditions?: { type: string; status: string }[] };
}

/** Installs the CRDs of the checkout, and waits for at most a minute until they are served. */
export async function installCrds(server: ServerDetails): Promise<void> {
  await Promise.all((await readdir(directory)).map((file) => installCrd(server, path.join(directory, file))));
}

async function installCrd(server: ServerDetails, file: string): Promise<void> {
  const definition = parse(await readFile(file, 'utf8')) as Definition;
  const { name } = definition.metadata;
  await applyObject(server, definition);
  const call = { path: groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions', undefined, name) };
  const isServed = async () => isEstablished(await callApi<Definition>(server, call));
  await until(`the CRD ${name} is served`, isServed, { timeoutMs: 60_000, intervalMs: 100 });
}

const isEstablished = ({ status }: Definition): boolean =>
  status?.conditions?.some(({ type, status: state }) => type === 'Established' && state === 'True') ?? false;
