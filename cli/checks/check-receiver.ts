import { type Findings, failed, listed, ok, unseen, warning } from './finding.ts';
import { hasEndpoint } from './installation.ts';
import { type Deployment, type SecretKeys, settingOf } from './objects.ts';
import type { OperatorPlace } from './survey.ts';

const WEBHOOKS = 'how-to/troubleshooting-webhooks.md';
const SENDERS = 'how-to/senders/README.md';

/** Variables of the receiver with the file of each authentication method. */
const METHODS = { hmac: 'WEBHOOK_HMAC_SECRET_FILE', token: 'WEBHOOK_BEARER_TOKEN_FILE' } as const;

/** Checks that a receiver authenticates senders. */
export function checkAuthentication(receiver: Deployment, { secrets }: OperatorPlace): Findings {
  const methods = Object.entries(METHODS).flatMap(([directory, variable]) => {
    const file = settingOf(receiver, variable);
    return file ? [{ directory, key: file.split('/').at(-1) ?? '' }] : [];
  });
  if (methods.length === 0)
    return warning('receiver/authentication', 'the receiver accepts unauthenticated deliveries', {
      todo: 'set webhookReceiver.hmac or webhookReceiver.token',
      page: SENDERS,
    });
  return methods.flatMap(({ directory, key }) => {
    const volume = receiver.spec.template.spec.volumes?.find(({ name }) => name === directory);
    const name = volume?.secret?.secretName ?? '';
    const result = secrets[name];
    const check = 'receiver/secret';
    if (!result) return [];
    if (result.kind === 'hidden')
      return unseen(check, `the Secret ${receiver.metadata.namespace}/${name} of the receiver`, result);
    const page = `${WEBHOOKS}#401`;
    if (!result.value)
      return failed(check, `the Secret ${name} of the receiver does not exist: the receiver cannot become ready`, {
        todo: `create it in ${receiver.metadata.namespace}, with the key ${key}`,
        page,
      });
    if (!result.value[key])
      return failed(
        check,
        `the key ${key} of the Secret ${name} of the receiver is empty or missing: all deliveries are rejected`,
        { todo: lacksKey(key, result.value), page },
      );
    return ok(check, `the receiver has its ${directory === 'hmac' ? 'HMAC secret' : 'token'}`);
  });
}

/** Returns the remedy for an empty or missing key. */
function lacksKey(key: string, keys: SecretKeys): string {
  if (Object.hasOwn(keys, key)) return `set the key ${key}`;
  return `add the key ${key}; the Secret has ${Object.keys(keys).length > 0 ? `only ${listed(Object.keys(keys))}` : 'no key'}`;
}

/** Checks that senders can reach a receiver. */
export function checkService(receiver: Deployment, { services, endpoints }: OperatorPlace): Findings {
  const { name, namespace } = receiver.metadata;
  if (services.kind === 'hidden') return unseen('receiver/service', `the Services in ${namespace}`, services);
  const page = `${WEBHOOKS}#5xx-not-stored`;
  if (!services.value.some(({ metadata }) => metadata.name === name))
    return failed(
      'receiver/service',
      `the Service ${namespace}/${name} of the receiver is missing: senders cannot reach it`,
      { todo: 'reinstall the chart', page },
    );
  if (endpoints.kind === 'hidden') return unseen('receiver/service', `the EndpointSlices in ${namespace}`, endpoints);
  if (hasEndpoint(endpoints.value, name))
    return ok('receiver/service', `the Service ${namespace}/${name} has ready pods`);
  return failed('receiver/service', `the Service ${namespace}/${name} has no ready pods: deliveries fail`, {
    todo: 'check why the receiver is not ready',
    page,
  });
}
