import type { X509Certificate } from 'node:crypto';
import { certificateSecretOf, certificatesOf, endOf } from './certificates.ts';
import { type Advice, type Findings, failed, ok, unseen } from './finding.ts';
import { componentsOf } from './installation.ts';
import { releaseOf, type Webhook, type WebhookConfiguration } from './objects.ts';
import type { OperatorSurvey } from './survey.ts';

/** Trust of the API server in a webhook. */
interface Trust {
  configuration: WebhookConfiguration;
  service: Webhook['clientConfig']['service'];
  authorities: X509Certificate[];
  advice: Advice;
  now: number;
}

/** Checks that the API server trusts the certificates of the controllers behind a webhook's Service. */
export function checkCertificate(trust: Trust, operator: OperatorSurvey): Findings {
  const { service, configuration } = trust;
  const place = service && operator.places[service.namespace];
  if (!place) return [];
  const release = releaseOf(configuration);
  const names = componentsOf(operator, 'controller')
    .filter(({ metadata }) => metadata.namespace === service.namespace)
    .filter(({ metadata }) => release === undefined || releaseOf({ metadata }) === release)
    .flatMap((controller) => certificateSecretOf(controller) ?? []);
  return names.flatMap((name) => {
    const result = place.certificates[name];
    const what = `the certificate of the controller, in the Secret ${service.namespace}/${name},`;
    if (!result) return [];
    if (result.kind === 'hidden') return unseen(CHECK, `the Secret ${service.namespace}/${name}`, result);
    const fault = faultOf(certificatesOf(result.value ?? ''), trust);
    if (fault) return failed(CHECK, `${what} ${fault}: the API server does not trust it`, trust.advice);
    return ok(CHECK, `${configuration.metadata.name} trusts the certificate of the controller`);
  });
}

const CHECK = 'webhook/certificate';

/** Returns the reason why the API server rejects a chain: the serving certificate first, then intermediates. */
function faultOf(shown: X509Certificate[], { configuration, service, ...trust }: Trust) {
  const { authorities, now } = trust;
  const [serving] = shown;
  if (!serving) return 'is missing';
  if (endOf(serving) < now) return `expired on ${new Date(endOf(serving)).toISOString()}`;
  const host = `${service?.name}.${service?.namespace}.svc`;
  if (!serving.checkHost(host)) return `is not for ${host}`;
  const valid = authorities.filter((authority) => endOf(authority) >= now);
  const chain = shown.filter((each, index) => each === serving || vouchesFor(each, shown[index - 1]));
  const isTrusted = chain.some((each) => valid.some((authority) => vouchesFor(authority, each)));
  return isTrusted ? undefined : `is not signed by any CA in the caBundle of ${configuration.metadata.name}`;
}

const vouchesFor = (authority: X509Certificate, certificate: X509Certificate | undefined): boolean =>
  certificate?.verify(authority.publicKey) ?? false;
