import { setTimeout as sleep } from 'node:timers/promises';
import { GATEWAY_SYNC, SYNC_REPORT } from '../../shared/api/group.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type Brought, type BroughtThing, find, MARK, pathOf } from './brought.ts';
import { installedOperators, isInstalled } from './installed-operators.ts';
import { NAMESPACE } from './objects.ts';

/** How a cluster was given back. */
interface GivenBack {
  /** What was removed, and what stays and why: a sentence for each thing. */
  sentences: string[];
  /** Whether nothing stays that should not. */
  isComplete: boolean;
}

/** Something cannot be removed, for a reason that is none of the demo's failures. */
class Stays extends Error {}

/**
 * Removes what a run brought, each thing by itself, so that one that cannot be removed keeps no other. CRDs stay where
 * somebody uses them by now. Never throws.
 */
export async function giveBack(client: KubernetesClient, { mark, things, found }: Brought): Promise<GivenBack> {
  const sentences: string[] = [];
  let isComplete = true;
  // The namespace goes last: by it the next run finds what one that is killed here leaves.
  for (const thing of things.toReversed()) {
    const what = `The ${thing.kind} ${thing.name}`;
    try {
      sentences.push(`${what} ${(await remove(client, thing, mark)) ? 'is removed' : 'is not there'}.`);
    } catch (error) {
      const isWanted = error instanceof Stays;
      isComplete &&= isWanted;
      const hint = isWanted ? '.' : `. To remove it: kubectl delete ${thing.kind.toLowerCase()} ${thing.name}`;
      sentences.push(`${what} ${isWanted || thing.uid ? 'stays' : 'may be there'}: ${messageOf(error)}${hint}`);
    }
  }
  for (const { kind, name } of found) sentences.push(`The ${kind} ${name} stays: it was there before.`);
  return { sentences, isComplete };
}

/** Whether it was there. Another one of the same name stays. */
async function remove(client: KubernetesClient, thing: BroughtThing, mark: string): Promise<boolean> {
  const uid = thing.uid ?? (await findUid(client, thing, mark));
  if (!uid) return false;
  if (thing.kind === 'CRD') await assertUnused(client, thing.name);
  try {
    await client.delete(pathOf(thing), { body: { preconditions: { uid } } });
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    if (isApiError(error, 409) && (await find(client, thing))?.metadata.uid !== uid) {
      throw new Stays('somebody created it anew');
    }
    throw error;
  }
}

async function findUid(client: KubernetesClient, thing: BroughtThing, mark: string): Promise<string | undefined> {
  const found = await find(client, thing);
  return found?.metadata.annotations?.[MARK] === mark ? found.metadata.uid : undefined;
}

/** Throws where a CRD is used by somebody else, or where that cannot be found out. */
async function assertUnused(client: KubernetesClient, crd: string): Promise<void> {
  const [operator] = await installedOperators(client);
  if (operator) throw new Stays(isInstalled(operator));
  // Who has GatewaySyncs needs the SyncReports as well.
  const kinds = [{ ...GATEWAY_SYNC, path: gatewaySyncPath() }];
  if (crd.startsWith(`${SYNC_REPORT.plural}.`)) kinds.push({ ...SYNC_REPORT, path: syncReportPath() });
  for (const { kind, path } of kinds) {
    const others = (await listObjects(client, path)).filter(({ metadata }) => metadata.namespace !== NAMESPACE);
    if (others.length > 0) throw new Stays(`${kind}s outside of ${NAMESPACE} need it (${others.length})`);
  }
}

interface Listed {
  metadata: { namespace: string };
}

/** None where their CRD is not served. Right after it came the API server says 429 for a moment, which is waited for. */
async function listObjects(client: KubernetesClient, path: string): Promise<Listed[]> {
  for (const deadline = Date.now() + 30_000; ; await sleep(200)) {
    try {
      return (await client.get<{ items: Listed[] }>(path)).items;
    } catch (error) {
      if (isApiError(error, 404)) return [];
      if (!isApiError(error, 429) || Date.now() > deadline) throw error;
    }
  }
}

/** A broken connection has its words in the error's code, where several addresses were tried. */
function messageOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}
