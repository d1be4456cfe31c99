import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { findHomeDir } from '@kubernetes/client-node';
import * as v from 'valibot';
import { parse } from 'yaml';
import { yamlCause } from '../../shared/domain/syntax/yaml-words.ts';
import { OWN_WORDS } from '../../shared/domain/text/issue-words.ts';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import type { Environment } from '../../shared/io/http/no-proxy.ts';
import { Problem } from './problem.ts';

/** A named cluster, user, or context of a kubeconfig. */
export interface Entry {
  name: string;
  /** Its content, which is checked when it is used. */
  value: unknown;
  /** Directory that its paths are relative to. */
  directory: string;
}

/** The merged kubeconfig. */
export interface Kubeconfig {
  currentContext: string | undefined;
  contexts: Entry[];
  clusters: Entry[];
  users: Entry[];
}

/** Locations of kubeconfigs. */
export interface KubeconfigPlaces {
  /** Value of `KUBECONFIG`. */
  kubeconfigs?: string | undefined;
  environment?: Environment | undefined;
}

/**
 * Loads the specified file, or else the files of `KUBECONFIG`, the default file, or the service account of this pod, as
 * kubectl does. Throws {@link Problem}.
 */
export function loadKubeconfig(file: string | undefined, places: KubeconfigPlaces): Kubeconfig {
  const listed = (places.kubeconfigs ?? '').split(path.delimiter).filter(Boolean);
  const files = listed.length > 0 ? listed : [path.join(findHomeDir() ?? '', '.kube/config')];
  const config = file === undefined ? merge(files.filter((each) => existsSync(each)).map(loadFile)) : loadFile(file);
  if (config.contexts.length + config.clusters.length > 0) return config;
  const own = file === undefined ? ofThisPod(places.environment ?? {}) : undefined;
  if (own) return own;
  throw new Problem(
    'no kubeconfig found: set KUBECONFIG, or add --kubeconfig FILE, as for kubectl',
    'KubeconfigInvalid',
  );
}

const entriesSchema = v.nullish(v.array(v.looseObject({ name: v.string() })), []);

const fileSchema = v.object({
  'current-context': v.nullish(v.string()),
  contexts: entriesSchema,
  clusters: entriesSchema,
  users: entriesSchema,
});

/** Merges files as kubectl does: the first value wins. */
function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  return {
    currentContext: configs.map(({ currentContext }) => currentContext).find(Boolean),
    contexts: firstOfEach(configs.flatMap(({ contexts }) => contexts)),
    clusters: firstOfEach(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEach(configs.flatMap(({ users }) => users)),
  };
}

function firstOfEach(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ name }, index) => entries.findIndex((entry) => entry.name === name) === index);
}

function loadFile(file: string): Kubeconfig {
  const directory = path.resolve(path.dirname(file));
  const entriesOf = (entries: readonly { name: string }[], key: string): Entry[] =>
    entries.map((entry) => ({
      name: entry.name,
      value: Object.entries(entry).find(([name]) => name === key)?.[1],
      directory,
    }));
  const { success, output, issues } = v.safeParse(fileSchema, readYaml(file) ?? {}, OWN_WORDS);
  if (!success) throw unreadable(file, `${v.getDotPath(issues[0]) ?? 'the file'} ${issues[0].message}`);
  return {
    currentContext: output['current-context'] ?? undefined,
    contexts: entriesOf(output.contexts, 'context'),
    clusters: entriesOf(output.clusters, 'cluster'),
    users: entriesOf(output.users, 'user'),
  };
}

function readYaml(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, causeOf(error), error);
  }
  try {
    return parse(text, { merge: true, logLevel: 'silent' });
  } catch (error) {
    throw unreadable(file, yamlCause(error), error);
  }
}

const unreadable = (file: string, why: string, cause?: unknown): Problem =>
  new Problem(`cannot read the kubeconfig ${file}: ${why}`, 'KubeconfigInvalid', { cause });

/** Files of a pod's service account (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/). */
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Returns a kubeconfig for the service account of this pod; undefined outside of a pod. */
function ofThisPod(environment: Environment): Kubeconfig | undefined {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port } = environment;
  if (!host || !port || !existsSync(`${ACCOUNT}/token`)) return undefined;
  const namespaceFile = `${ACCOUNT}/namespace`;
  const namespace = existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : undefined;
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const entry = (name: string, value: object): Entry => ({ name, value, directory: ACCOUNT });
  return {
    currentContext: 'in-cluster',
    contexts: [entry('in-cluster', { cluster: 'in-cluster', user: 'in-cluster', namespace })],
    clusters: [entry('in-cluster', { server, 'certificate-authority': 'ca.crt' })],
    users: [entry('in-cluster', { tokenFile: 'token' })],
  };
}
