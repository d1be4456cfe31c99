import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { gitTokenSecretName } from '../../shared/api/names.ts';
import { headerSecrets } from '../../shared/domain/kubernetes/header-secrets.ts';
import { type Findings, failed, listed, ok, unseen } from './finding.ts';
import type { NamespaceSurvey } from './survey.ts';

/** A Secret that a GatewaySync refers to, and the field. */
export interface NamedSecret {
  field: string;
  name: string;
  /** If omitted, all keys of the Secret. */
  key?: string;
}

/** Returns the Secrets that a GatewaySync refers to. */
export function secretsOf({ metadata, spec }: GatewaySync): NamedSecret[] {
  const { token, sshKey, githubApp } = spec.git.auth ?? {};
  const { api } = spec.gateway;
  const { keysSecretRef } = spec.git.verify ?? {};
  const refs: [string, { name: string; key: string } | undefined][] = [
    ['spec.git.auth.token', token?.secretRef],
    ['spec.git.auth.sshKey', sshKey?.secretRef],
    ['spec.git.auth.sshKey.knownHosts', sshKey?.knownHosts?.secretRef],
    ['spec.git.auth.githubApp', githubApp?.privateKeySecretRef],
    ['spec.git.caSecretRef', spec.git.caSecretRef],
    ['spec.git.commitStatus', spec.git.commitStatus?.secretRef],
    ['spec.gateway.api', api && { name: api.secretName, key: api.secretKey }],
    ...headerSecrets(spec.gateway).map(({ field, secretRef }): [string, typeof secretRef] => [field, secretRef]),
    ['token written by the controller', githubApp && { name: gitTokenSecretName(metadata.name), key: 'token' }],
  ];
  return [
    ...refs.flatMap(([field, ref]) => (ref ? [{ field, name: ref.name, key: ref.key }] : [])),
    ...(keysSecretRef ? [{ field: 'spec.git.verify.keysSecretRef', name: keysSecretRef.name }] : []),
  ];
}

/** Checks that the Secrets of a GatewaySync exist and have their keys. Values are never shown. */
export function checkSecrets(gatewaySync: GatewaySync, { name: namespace, secrets }: NamespaceSurvey): Findings {
  return secretsOf(gatewaySync).flatMap(({ field, name, key }) => {
    const result = secrets[name];
    const check = 'gatewaysync/secret';
    const page = 'how-to/credentials.md';
    const says = `the Secret ${namespace}/${name} (${field})`;
    if (!result) return [];
    if (result.kind === 'hidden') return unseen(check, says, result);
    if (!result.value)
      return failed(check, `${says} does not exist`, {
        todo: `create it with ${key ? `the key ${key}` : 'a key for each signer'}`,
        page,
      });
    const keys = Object.keys(result.value);
    if (key !== undefined && !keys.includes(key))
      return failed(check, `${says} has no key ${key}`, {
        todo: `add it; the Secret has ${keys.length > 0 ? `only ${listed(keys)}` : 'no key'}`,
        page,
      });
    if (key === undefined ? keys.length === 0 : result.value[key] === 0)
      return failed(check, `${says} is empty${key ? ` in its key ${key}` : ''}`, { todo: 'set the value', page });
    return ok(check, `${says} exists`);
  });
}
