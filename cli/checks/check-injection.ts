import type { V1NetworkPolicyPort } from '@kubernetes/client-node';
import { certificatesOf, endOf } from './certificates.ts';
import { checkCertificate } from './check-certificate.ts';
import { type Finding, type Findings, failed, listed, ok, seenOr, unseen, warning } from './finding.ts';
import { componentsOf, hasEndpoint, type Injector, injectorsOf, WEBHOOK_NAME } from './installation.ts';
import { componentOf, fits, settingOf } from './objects.ts';
import type { OperatorPlace, OperatorSurvey, Survey } from './survey.ts';

const INJECTION = 'how-to/troubleshooting-injection.md';
const UNREACHABLE = 'how-to/unreachable-webhook.md';
const LEFTOVERS = 'how-to/uninstalling.md#after-an-incomplete-uninstall';

/** Effects on annotated pods while the controller can't be reached, by the webhook's failurePolicy. */
const REFUSED = 'annotated pods are rejected (failurePolicy is Fail)';
const BARE = 'annotated pods start without the sidecar (failurePolicy is Ignore)';

/** Checks that the API server calls the controller for annotated pods, can reach it, and trusts it. */
export function checkInjection(survey: Survey): Findings {
  const { webhooks } = survey.cluster;
  if (webhooks.kind === 'hidden') return unseen('webhook/installed', 'MutatingWebhookConfigurations', webhooks);
  const injectors = injectorsOf(survey);
  if (injectors.length === 0) return absent(survey);
  return injectors.flatMap((injector) => [
    checkAuthority(injector, survey),
    checkRules(injector),
    checkReach(injector, survey),
  ]);
}

function absent({ operator }: Survey): Finding {
  const controllers = componentsOf(operator, 'controller');
  const isOff = controllers.some((controller) => settingOf(controller, 'WEBHOOK_PORT') === '0');
  const says = 'no webhook injects the sidecar';
  return isOff
    ? warning('webhook/installed', `${says}: webhook.enabled is false`, {
        todo: 'set webhook.enabled, or add the sidecar to your pods yourself',
        page: 'explanation/injection.md',
      })
    : failed('webhook/installed', `${says}: no MutatingWebhookConfiguration has ${WEBHOOK_NAME}`, {
        todo: controllers.length > 0 ? 'reinstall the chart: it was deleted' : 'install the chart',
        page: INJECTION,
      });
}

function checkAuthority({ webhook, configuration }: Injector, { now, operator }: Survey): Findings {
  const { name, annotations = {} } = configuration.metadata;
  const check = 'webhook/ca-bundle';
  const source = annotations['cert-manager.io/inject-ca-from'];
  const todo = source
    ? `check the Certificate ${source} and the log of cert-manager's cainjector`
    : "search the controller's log for 'certificate not checked'";
  const advice = { todo, page: INJECTION };
  const fail = (says: string) => failed(check, `${name} ${says}`, advice);
  const { caBundle, service } = webhook.clientConfig;
  if (!caBundle) return fail('has no caBundle: the API server does not trust the controller');
  // During a CA rotation, the bundle has two.
  const authorities = certificatesOf(Buffer.from(caBundle, 'base64').toString());
  if (authorities.length === 0) return fail('has a caBundle that is not a certificate');
  const last = Math.max(...authorities.map(endOf));
  if (last < now) return fail(`has a caBundle that expired on ${new Date(last).toISOString()}`);
  const served = checkCertificate({ configuration, service, authorities, advice, now }, operator);
  return [ok(check, `${name} has a CA`), served];
}

function checkRules({ webhook, configuration: { metadata } }: Injector): Findings {
  const coversPods = (webhook.rules ?? []).some(
    ({ apiGroups = [], resources = [], operations = [] }) =>
      (apiGroups.includes('') || apiGroups.includes('*')) &&
      (resources.includes('pods') || resources.includes('*')) &&
      (operations.includes('CREATE') || operations.includes('*')),
  );
  if (!coversPods)
    return failed('webhook/rules', `${metadata.name} is not called when pods are created`, {
      todo: 'reinstall the chart: the rules were changed',
      page: INJECTION,
    });
  const coversSystem = fits(webhook.namespaceSelector, { 'kubernetes.io/metadata.name': 'kube-system' });
  if (coversSystem)
    return warning('webhook/selector', `${metadata.name} is also called in kube-system`, {
      todo: 'reinstall the chart: its namespaceSelector excludes kube-system and kube-node-lease',
      page: 'explanation/injection.md',
    });
  return ok('webhook/rules', `${metadata.name} is called for annotated pods`);
}

function checkReach({ webhook, configuration: { metadata } }: Injector, { operator }: Survey): Findings {
  const { service } = webhook.clientConfig;
  if (!service) return ok('webhook/endpoint', `${metadata.name} calls ${webhook.clientConfig.url ?? 'nothing'}`);
  const place = operator.places[service.namespace];
  if (!place) return [];
  const { services, endpoints } = place;
  if (services.kind === 'hidden') return unseen('webhook/service', `the Services in ${service.namespace}`, services);
  const isStrict = webhook.failurePolicy === 'Fail';
  const fail = (check: string, says: string, advice: { todo: string; page: string }) =>
    failed(check, `${says}: ${isStrict ? REFUSED : BARE}`, advice);
  const leftBehind = {
    todo: `reinstall the chart; if you removed the operator, run kubectl delete mutatingwebhookconfiguration ${metadata.name}`,
    page: LEFTOVERS,
  };
  const address = `${service.namespace}/${service.name}`;
  const calls = (what: string) => `${metadata.name} calls ${what}`;
  const found = services.value.find(({ metadata: { name } }) => name === service.name);
  if (!found) return fail('webhook/service', calls(`the Service ${address}, which does not exist`), leftBehind);
  const { port = 443 } = service;
  if (!found.spec.ports?.some((each) => each.port === port)) {
    const advice = { todo: 'reinstall the chart', page: UNREACHABLE };
    return fail(
      'webhook/service',
      calls(`port ${port} of the Service ${address}, which does not have this port`),
      advice,
    );
  }
  if (endpoints.kind === 'hidden')
    return unseen('webhook/endpoint', `the EndpointSlices in ${service.namespace}`, endpoints);
  if (!hasEndpoint(endpoints.value, service.name)) {
    const notReady = { todo: 'check above why the controller is not ready', page: UNREACHABLE };
    const isLeft = operator.deployments.kind === 'seen' && componentsOf(operator, 'controller').length === 0;
    const says = `the Service ${address} has no ready pods`;
    return fail('webhook/endpoint', says, isLeft ? leftBehind : notReady);
  }
  const reached = `the Service ${address} has ready pods${isStrict ? '; without them, annotated pods would be rejected' : ''}`;
  return [ok('webhook/endpoint', reached), checkPolicies(operator, place, service.namespace)];
}

/** Returns only a hint, because the source of API server requests can't be matched with the rules of a policy. */
function checkPolicies(
  operator: OperatorSurvey,
  { networkPolicies, pods }: OperatorPlace,
  namespace: string,
): Findings {
  if (networkPolicies.kind === 'hidden')
    return unseen('webhook/network-policy', `the NetworkPolicies in ${namespace}`, networkPolicies);
  const controllers = seenOr(pods, []).filter((pod) => componentOf(pod) === 'controller');
  const own = networkPolicies.value.filter(
    ({ spec: { podSelector, policyTypes = ['Ingress'] } }) =>
      policyTypes.includes('Ingress') && controllers.some(({ metadata }) => fits(podSelector, metadata.labels)),
  );
  const wanted = webhookPortOf(operator, namespace);
  const isOpen = ({ port, endPort }: V1NetworkPolicyPort) =>
    typeof port === 'number' ? port <= wanted && wanted <= (endPort ?? port) : port === undefined || port === 'webhook';
  const isAllowed = own.some(({ spec: { ingress = [] } }) => ingress.some(({ ports }) => !ports || ports.some(isOpen)));
  if (own.length === 0 || isAllowed) return [];
  return warning(
    'webhook/network-policy',
    `NetworkPolicies in ${namespace} may block requests from the API server to the controller`,
    {
      todo: `allow ingress to port ${wanted}, which is missing in ${listed(own.map(({ metadata }) => metadata.name))}`,
      page: UNREACHABLE,
    },
  );
}

/** Returns the webhook port of the controllers in a namespace. Default: the port of the chart. */
function webhookPortOf(operator: OperatorSurvey, namespace: string): number {
  const controller = componentsOf(operator, 'controller').find(({ metadata }) => metadata.namespace === namespace);
  return Number((controller && settingOf(controller, 'WEBHOOK_PORT')) ?? 9443);
}
