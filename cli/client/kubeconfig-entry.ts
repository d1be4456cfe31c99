import path from 'node:path';
import * as v from 'valibot';
import { OWN_WORDS } from '../../shared/domain/text/issue-words.ts';
import { isObject } from '../../shared/domain/text/objects.ts';
import type { Entry } from './kubeconfig.ts';
import { Problem } from './problem.ts';

// The fields of a kubeconfig (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/). Null is an empty value.
const text = v.nullish(v.string(), '');
const flag = v.nullish(v.boolean(), false);
const texts = v.nullish(v.array(v.string()), []);
const base64 = v.nullish(v.pipe(v.string(), v.transform(withoutSpace), v.base64('must be base64')), '');
const extensions = v.nullish(v.array(v.object({ name: v.string(), extension: v.unknown() })), []);

const contextSchema = v.object({ cluster: text, user: text, namespace: text, extensions });

const clusterSchema = v.object({
  server: text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': flag,
  'certificate-authority': text,
  'certificate-authority-data': base64,
  'proxy-url': text,
  'disable-compression': flag,
  extensions,
});

/** Supported versions of the credential plugin's protocol. */
const PLUGIN_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;

const execSchema = v.object({
  apiVersion: v.picklist(PLUGIN_VERSIONS, `must be ${PLUGIN_VERSIONS.join(' or ')}`),
  command: v.pipe(v.string(), v.nonEmpty('must not be empty')),
  args: texts,
  env: v.nullish(v.array(v.object({ name: v.pipe(v.string(), v.nonEmpty('must not be empty')), value: text })), []),
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: v.nullish(v.picklist(['Never', 'IfAvailable', 'Always']), 'IfAvailable'),
});

const userSchema = v.object({
  'client-certificate': text,
  'client-certificate-data': base64,
  'client-key': text,
  'client-key-data': base64,
  token: text,
  tokenFile: text,
  as: text,
  'as-uid': text,
  'as-groups': texts,
  'as-user-extra': v.nullish(v.record(v.string(), v.array(v.string())), {}),
  username: text,
  password: text,
  exec: v.nullish(execSchema),
  extensions,
});

export type Context = v.InferOutput<typeof contextSchema>;
export type Cluster = v.InferOutput<typeof clusterSchema>;
export type User = v.InferOutput<typeof userSchema>;
export type Exec = v.InferOutput<typeof execSchema>;

/** Reads a context. Throws {@link Problem}. */
export const readContext = (entry: Entry): Context => read(contextSchema, entry, `context ${entry.name}`);

/** Reads a cluster with absolute paths. Throws {@link Problem} for a field that can't be used. */
export function readCluster(entry: Entry): Cluster {
  const what = `cluster ${entry.name}`;
  const cluster = read(clusterSchema, entry, what);
  refuseBoth(cluster, 'certificate-authority', what);
  if (
    cluster['insecure-skip-tls-verify'] &&
    (cluster['certificate-authority'] || cluster['certificate-authority-data'])
  )
    throw refusal(what, 'has insecure-skip-tls-verify and a certificate-authority: remove one of them');
  if (!cluster.server) throw refusal(what, 'has no server');
  return { ...cluster, 'certificate-authority': resolve(entry, cluster['certificate-authority']) };
}

/** Reads a user with absolute paths. Throws {@link Problem} for a field that can't be used. */
export function readUser(entry: Entry): User {
  const what = `user ${entry.name}`;
  const { exec } = isObject(entry.value) ? entry.value : {};
  if (isObject(exec)) refuseUnknown(execSchema.entries, exec, { what, prefix: 'exec.' });
  const user = read(userSchema, entry, what);
  refuseBoth(user, 'client-certificate', what);
  refuseBoth(user, 'client-key', what);
  const files = (['client-certificate', 'client-key', 'tokenFile'] as const).map((key) => [
    key,
    resolve(entry, user[key]),
  ]);
  return { ...user, ...Object.fromEntries(files), exec: user.exec && withAbsoluteCommand(user.exec, entry) };
}

function read<TSchema extends v.ObjectSchema<v.ObjectEntries, undefined>>(
  schema: TSchema,
  { value }: Entry,
  what: string,
): v.InferOutput<TSchema> {
  const given = value ?? {};
  if (isObject(given)) refuseUnknown(schema.entries, given, { what });
  const result = v.safeParse(schema, given, OWN_WORDS);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const field = v.getDotPath(issue);
  throw refusal(what, field ? `has an invalid field ${field}: it ${issue.message}` : issue.message);
}

/** kubectl ignores fields that it doesn't know, but such a field may choose the user, so it must not be ignored here. */
function refuseUnknown(known: object, given: object, { what, prefix = '' }: { what: string; prefix?: string }): void {
  const unknown = Object.entries(given).find(([key, value]) => !(key in known) && value !== null);
  if (!unknown) return;
  const help = unknown[0] === 'auth-provider' ? 'use a credential plugin (exec)' : 'remove it, or choose another user';
  throw refusal(what, `has the field ${prefix}${unknown[0]}, which kubectl stoker does not support: ${help}`);
}

function refuseBoth(given: object, key: string, what: string): void {
  const isSet = (name: string) => Object.entries(given).some(([field, value]) => field === name && value !== '');
  if (isSet(key) && isSet(`${key}-data`)) throw refusal(what, `has ${key} and ${key}-data: remove one of them`);
}

/** An error about an entry of the kubeconfig. */
export const refusal = (what: string, says: string): Problem =>
  new Problem(`${what} of the kubeconfig ${says}`, 'KubeconfigInvalid');

const resolve = ({ directory }: Entry, file: string): string => (file ? path.resolve(directory, file) : '');

/** A command without a slash is searched on the PATH. */
const withAbsoluteCommand = (exec: Exec, entry: Entry): Exec => ({
  ...exec,
  command: exec.command.includes('/') ? resolve(entry, exec.command) : exec.command,
});

function withoutSpace(value: string): string {
  return value.replaceAll(/\s/g, '');
}
