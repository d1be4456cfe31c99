import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ApiCall, callApi } from '../../../scripts/testbed/call-api.ts';
import type { ServerAccess } from '../../../scripts/testbed/cluster-access.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { at, GATEWAYS, gatewayObjects, operatorObjects, POD_NAME, reportOf, SYSTEM } from './doctor-objects.ts';

/** One change of a healthy cluster. */
export type Change =
  | { patch: string; with: object; status?: boolean }
  | { remove: string }
  | { add: string; object: object };

interface Stored {
  metadata: { name: string; resourceVersion?: string; uid?: string; [key: string]: unknown };
  status?: object;
  [key: string]: unknown;
}

/** Objects on a real API server without controllers. */
export class World {
  readonly #server: ServerAccess;

  constructor(server: ServerAccess) {
    this.#server = server;
  }

  /** Creates an object with its status; for SyncReports, it's a normal field. */
  async add(collection: string, object: object): Promise<Stored> {
    const { status, metadata } = object as Stored;
    const made = await this.#call<Stored>({ method: 'POST', path: collection, body: object });
    if (status && !collection.endsWith('/syncreports'))
      await this.#patch(`${collection}/${metadata.name}/status`, { status });
    return made;
  }

  /** Creates a healthy installation. */
  async build(): Promise<void> {
    for (const name of [SYSTEM, GATEWAYS]) await this.#addNamespace(name);
    const objects = [...operatorObjects(await readFile(this.#server.caFile, 'base64')), ...gatewayObjects()];
    for (const [collection, object] of objects) await this.add(collection, object);
    const { metadata } = await this.#call<Stored>({ path: `${at.pods()}/${POD_NAME}` });
    await this.add(at.reports, reportOf(`${metadata.uid}`));
  }

  /** Makes changes, and returns a function that reverts them. */
  async change(changes: readonly Change[]): Promise<() => Promise<void>> {
    const undos: (() => Promise<void>)[] = [];
    for (const each of changes) undos.unshift(await this.#apply(each));
    return async () => {
      for (const undo of undos) await undo();
    };
  }

  async #apply(change: Change): Promise<() => Promise<void>> {
    if ('add' in change) {
      const { metadata } = await this.add(change.add, change.object);
      return () => this.#remove(`${change.add}/${metadata.name}`);
    }
    if ('remove' in change) {
      const before = await this.#read(change.remove);
      await this.#remove(change.remove);
      return async () => void (await this.add(path.posix.dirname(change.remove), before));
    }
    const before = await this.#read(change.patch);
    const target = change.status ? `${change.patch}/status` : change.patch;
    await this.#patch(target, change.with);
    return async () => {
      const { metadata } = await this.#call<Stored>({ path: change.patch });
      const { resourceVersion } = metadata;
      const body = { ...before, metadata: { ...before.metadata, resourceVersion } };
      await this.#call({ method: 'PUT', path: target, body });
    };
  }

  async #addNamespace(name: string): Promise<void> {
    await this.add('/api/v1/namespaces', { metadata: { name } });
    // Pods are rejected without it, and no controller creates it here.
    await this.add(corePath('serviceaccounts', name), { metadata: { name: 'default' } });
  }

  #call<T>(call: ApiCall): Promise<T> {
    return callApi<T>(this.#server, call);
  }

  async #patch(target: string, body: object): Promise<void> {
    await this.#call({ method: 'PATCH', path: target, body, contentType: 'application/merge-patch+json' });
  }

  async #remove(target: string): Promise<void> {
    await this.#call({ method: 'DELETE', path: target, query: { gracePeriodSeconds: '0' } });
  }

  /** Reads an object in a form that can be created again. */
  async #read(target: string): Promise<Stored> {
    const { metadata, ...rest } = await this.#call<Stored>({ path: target });
    const kept = omit(metadata, 'resourceVersion', 'uid', 'managedFields', 'generation');
    return { metadata: kept as Stored['metadata'], ...rest };
  }
}
