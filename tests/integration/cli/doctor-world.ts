import { readFile } from 'node:fs/promises';
import { type ApiCall, CallError, callApi } from '../../../scripts/testbed/call-api.ts';
import type { ServerAccess } from '../../../scripts/testbed/cluster-access.ts';
import { omit } from '../../../shared/domain/objects.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { at, GATEWAYS, gatewayObjects, operatorObjects, reportOf, SYSTEM } from './doctor-objects.ts';

interface Stored {
  metadata: { name: string; resourceVersion?: string; uid?: string; [key: string]: unknown };
  status?: object;
  [key: string]: unknown;
}

/** Objects on a real API server without controllers. */
export class World {
  readonly server: ServerAccess;

  constructor(server: ServerAccess) {
    this.server = server;
  }

  call<T>(call: ApiCall): Promise<T> {
    return callApi<T>(this.server, call);
  }

  /** Creates an object with its status; for SyncReports, it's a normal field. */
  async add(collection: string, object: object): Promise<Stored> {
    const { status, metadata } = object as Stored;
    const made = await this.call<Stored>({ method: 'POST', path: collection, body: object });
    if (status && !collection.endsWith('/syncreports'))
      await this.patch(`${collection}/${metadata.name}`, { status }, '/status');
    return made;
  }

  async patch(path: string, body: object, subresource = ''): Promise<void> {
    const contentType = 'application/merge-patch+json';
    await this.call({ method: 'PATCH', path: `${path}${subresource}`, body, contentType });
  }

  async remove(path: string): Promise<void> {
    await this.call({ method: 'DELETE', path, query: { gracePeriodSeconds: '0' } });
  }

  /** The object in a form that can be created again. */
  async read(path: string): Promise<Stored | undefined> {
    try {
      const { metadata, ...rest } = await this.call<Stored>({ path });
      const kept = omit(metadata, 'resourceVersion', 'uid', 'managedFields', 'generation');
      return { metadata: kept as Stored['metadata'], ...rest };
    } catch (error) {
      if (error instanceof CallError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Creates a healthy installation. */
  async build(): Promise<void> {
    for (const name of [SYSTEM, GATEWAYS, 'skipped']) await this.addNamespace(name);
    const objects = [...operatorObjects(await readFile(this.server.caFile, 'base64')), ...gatewayObjects()];
    for (const [collection, object] of objects) await this.add(collection, object);
    const { metadata } = await this.call<Stored>({ path: `${at.pods()}/plant-0` });
    await this.add(at.reports(), reportOf('plant-0', `${metadata.uid}`));
  }

  async addNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
    await this.add('/api/v1/namespaces', { metadata: { name, labels } });
    // Pods are rejected without it, and no controller creates it here.
    await this.add(corePath('serviceaccounts', name), { metadata: { name: 'default' } });
  }
}
