import { METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import { corePath, gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type Access, connect } from '../client/connect.ts';
import { loadKubeconfig } from '../client/kubeconfig.ts';
import { getGatewaySync, listReleases } from '../client/read.ts';
import { historyView } from '../fleet/history.ts';
import { shortCommit } from '../fleet/messages.ts';
import type { Host } from '../terminal/host.ts';
import type { Candidate, Given } from './completed-word.ts';

/** Maximum objects in a list of names. */
const MAX_NAMES = 500;

/** Lists the values of an argument from the kubeconfig or the cluster. */
export function valuesFor(key: string, given: Given, host: Host): Promise<Candidate[]> | Candidate[] {
  return READERS[key]?.(given, host) ?? [];
}

type Reader = (given: Given, host: Host) => Promise<Candidate[]> | Candidate[];

const namespaces: Reader = (given, host) => namesAt(given, host, () => corePath('namespaces'));

function entriesIn(key: 'contexts' | 'clusters' | 'users'): Reader {
  return ({ kubeconfig }, host) => loadKubeconfig(kubeconfig, host)[key].map(({ name }) => ({ value: name }));
}

const READERS: Record<string, Reader> = {
  context: entriesIn('contexts'),
  cluster: entriesIn('clusters'),
  user: entriesIn('users'),
  namespace: namespaces,
  'operator-namespace': namespaces,
  name: (given, host) => namesAt(given, host, gatewaySyncPath),
  gateway: async (given, host) => {
    const { status } = await getGatewaySync(accessWith(given, host), given.name ?? '');
    return status?.discoveredGateways?.map(({ name }) => ({ value: name })) ?? [];
  },
  to: async (given, host) => {
    const access = accessWith(given, host);
    const { name = '' } = given;
    const [gatewaySync, releases = []] = await Promise.all([getGatewaySync(access, name), listReleases(access, name)]);
    return historyView(gatewaySync, releases)
      .filter(({ canGoBack }) => canGoBack)
      .map(({ number, ref, commit }) => ({
        value: `${number}`,
        description: ref === commit ? shortCommit(commit) : `${ref} ${shortCommit(commit)}`,
      }));
  },
};

/** Only the last group counts, because the words of a command line that is being typed are kept by name. */
function accessWith(given: Given, host: Host): Access {
  const group = given['as-group'];
  return connect({ ...given, 'as-group': group === undefined ? undefined : [group] }, host);
}

async function namesAt(given: Given, host: Host, pathIn: (namespace: string) => string): Promise<Candidate[]> {
  const { client, namespace } = accessWith(given, host);
  const query = { limit: MAX_NAMES };
  const list = await client.getAs<{ items: { metadata: { name: string } }[] }>(pathIn(namespace), {
    accept: METADATA_LIST,
    query,
  });
  return list.items.map(({ metadata: { name } }) => ({ value: name }));
}
