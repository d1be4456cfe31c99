import { gitTokenSecretName } from '../../shared/api/names.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { ObservedSpec } from '../watch/observed-gateway-sync.ts';
import type { InjectionCandidate } from './choose-gateway-sync.ts';

/** Mount paths in the sidecar. */
export const SIDECAR_PATHS = {
  repository: '/repo',
  data: '/data',
  scratch: '/tmp',
  pod: '/etc/sync-agent/pod',
  credentials: '/etc/sync-agent/credentials',
  /** Below the credentials: a directory for each Secret, a file for each key. */
  headers: '/etc/sync-agent/credentials/headers',
  verifyKeys: '/etc/sync-agent/verify-keys',
  memory: '/run/sync-agent',
  extraCas: '/etc/sync-agent/ca',
  token: '/var/run/secrets/kubernetes.io/serviceaccount',
};

/** Larger than any Secret. The content of the volume counts toward the memory limit of the agent. */
const MEMORY_LIMIT = '2Mi';

/** Volumes that belong to the sidecar. */
export interface SidecarVolumes {
  /** Volumes of the pod. */
  volumes: object[];
  /** Their mounts in the sidecar. */
  mounts: object[];
  /** Names of those on the node's disk. */
  local: string[];
}

interface SidecarVolume {
  name: string;
  mountPath: string;
  readOnly?: true;
  source: object;
}

/** A ConfigMap of the pod's namespace with CAs (PEM) for git servers, and its key. */
export interface CaConfigMap {
  name: string;
  key: string;
}

/** Name of the file with these CAs, in their directory. */
export const EXTRA_CAS_FILE = 'ca.crt';

/** Makes the volumes of a sidecar. A name that the pod already uses gets a number. */
export function sidecarVolumes(
  gatewaySync: InjectionCandidate,
  taken: string[],
  caConfigMap?: CaConfigMap,
): SidecarVolumes {
  const all = new Set(taken);
  const own = volumesFor(gatewaySync, caConfigMap).map((volume) => ({
    ...volume,
    name: freeName(volume.name, all),
  }));
  return {
    volumes: own.map(({ name, source }) => ({ name, ...source })),
    mounts: own.map(({ name, mountPath, readOnly }) => withoutUndefined({ name, mountPath, readOnly })),
    local: own.filter(({ source }) => source === ON_DISK).map(({ name }) => name),
  };
}

const ON_DISK = { emptyDir: {} };

function volumesFor(gatewaySync: InjectionCandidate, caConfigMap: CaConfigMap | undefined): SidecarVolume[] {
  const { spec } = gatewaySync;
  const credentials = [...credentialSources(gatewaySync).map(({ projection }) => projection), ...headerSources(spec)];
  const verifyKeys = verifyKeysSecret(spec);
  const labels = { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } };
  const volumes: (SidecarVolume | false)[] = [
    { name: 'sync-agent-repo', mountPath: SIDECAR_PATHS.repository, source: ON_DISK },
    { name: 'sync-agent-tmp', mountPath: SIDECAR_PATHS.scratch, source: ON_DISK },
    readOnly('sync-agent-pod', SIDECAR_PATHS.pod, { downwardAPI: { items: [labels] } }),
    readOnly('sync-agent-token', SIDECAR_PATHS.token, { projected: { sources: serviceAccountSources } }),
    credentials.length > 0 &&
      readOnly('sync-agent-credentials', SIDECAR_PATHS.credentials, { projected: { sources: credentials } }),
    verifyKeys !== undefined &&
      readOnly('sync-agent-verify-keys', SIDECAR_PATHS.verifyKeys, { secret: { secretName: verifyKeys } }),
    copiesCredentials(spec) && {
      name: 'sync-agent-memory',
      mountPath: SIDECAR_PATHS.memory,
      source: { emptyDir: { medium: 'Memory', sizeLimit: MEMORY_LIMIT } },
    },
    caConfigMap !== undefined &&
      readOnly('sync-agent-ca', SIDECAR_PATHS.extraCas, { configMap: extraCas(caConfigMap) }),
  ];
  return volumes.filter((volume) => volume !== false);
}

function readOnly(name: string, mountPath: string, source: object): SidecarVolume {
  return { name, mountPath, source, readOnly: true };
}

/** Optional: pods start without it, and agents load it when it exists. */
const extraCas = ({ name, key }: CaConfigMap) => ({
  name,
  items: [{ key, path: EXTRA_CAS_FILE }],
  optional: true,
});

/** Secrets that the resource names, each as a file that a variable points at. */
export function credentialSources({ name: crName, spec: { git, gateway } }: InjectionCandidate) {
  const { token, sshKey, githubApp } = git.auth ?? {};
  const { api } = gateway;
  // The private key of an App stays in the controller, which writes a token for the agents.
  const tokenRef = githubApp ? { name: gitTokenSecretName(crName), key: 'token' } : token?.secretRef;
  const sources = [
    { variable: 'GIT_TOKEN_FILE', file: 'git-token', ref: tokenRef },
    { variable: 'GIT_SSH_KEY_FILE', file: 'git-ssh-key', ref: sshKey?.secretRef },
    { variable: 'GIT_KNOWN_HOSTS_FILE', file: 'git-known-hosts', ref: sshKey?.knownHosts?.secretRef },
    { variable: 'GIT_CA_FILE', file: 'git-ca', ref: git.caSecretRef },
    { variable: 'API_KEY_FILE', file: 'gateway-api-key', ref: api && { name: api.secretName, key: api.secretKey } },
  ];
  return sources.flatMap(({ variable, file, ref }) =>
    ref ? [{ variable, file, projection: { secret: { name: ref.name, items: [{ key: ref.key, path: file }] } } }] : [],
  );
}

/** Secrets with values of headers, by Secret and key, because the list of requests can change after injection. */
export function headerSources({ gateway }: Pick<ObservedSpec, 'gateway'>) {
  return groupBySecret(gateway.headers ?? []).map(({ name, keys }) => ({
    secret: { name, items: keys.map((key) => ({ key, path: `headers/${name}/${key}` })) },
  }));
}

/** The Secret with the trusted keys, if signatures are required. */
export function verifyKeysSecret({ git }: Pick<ObservedSpec, 'git'>): string | undefined {
  return git.verify && git.verify.mode !== 'none' ? git.verify.keysSecretRef?.name : undefined;
}

/** A Secret, and its required keys. */
export interface NamedSecret {
  name: string;
  keys: string[];
}

/** Lists the Secrets of a resource, except for the one that the controller writes. */
export function secretsOf(gatewaySync: InjectionCandidate): NamedSecret[] {
  const { name: crName, spec } = gatewaySync;
  const { githubApp } = spec.git.auth ?? {};
  const mounted = [...credentialSources(gatewaySync).map(({ projection }) => projection), ...headerSources(spec)];
  const refs = mounted.flatMap(({ secret: { name, items } }) => items.map(({ key }) => ({ name, key })));
  const verifyKeys = verifyKeysSecret(spec);
  const named = groupBySecret([
    ...(verifyKeys === undefined ? [] : [{ name: verifyKeys }]),
    ...refs,
    ...(githubApp ? [githubApp.privateKeySecretRef] : []),
  ]);
  return named.filter(({ name }) => !githubApp || name !== gitTokenSecretName(crName));
}

function groupBySecret(refs: { name: string; key?: string }[]): NamedSecret[] {
  return Array.from(
    Map.groupBy(refs, ({ name }) => name),
    ([name, own]) => ({ name, keys: [...new Set(own.flatMap(({ key }) => key ?? []))] }),
  );
}

/**
 * Whether the agent has to copy a credential: ssh refuses a key that others can read, such as a mounted Secret. The
 * copy must not be on the node's disk, as `/repo` is.
 */
export function copiesCredentials({ git }: Pick<ObservedSpec, 'git'>): boolean {
  return git.auth?.sshKey !== undefined;
}

/** The volumes of the ServiceAccount admission plugin, for pods without them. */
const serviceAccountSources = [
  { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
];

function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}
