import { seenOr } from './finding.ts';
import { componentOf, type Deployment, settingOf, type Webhook, type WebhookConfiguration } from './objects.ts';
import type { OperatorPlace, OperatorSurvey, Survey } from './survey.ts';

/** Name of the webhook in the configuration of the chart. */
export const WEBHOOK_NAME = 'inject.sync.io';

/** Deployments of one component of the chart. */
export const componentsOf = (survey: OperatorSurvey, component: 'controller' | 'receiver'): Deployment[] =>
  seenOr(survey.deployments, []).filter((each) => componentOf(each) === component);

/** Namespaces that a controller watches. If empty, it watches all. */
export const watchedBy = (controller: Deployment): string[] =>
  (settingOf(controller, 'WATCH_NAMESPACES') ?? '').split(',').filter(Boolean);

/** Checks whether all visible controllers create RoleBindings for agents. */
export const bindsAgents = ({ operator }: Survey): boolean =>
  componentsOf(operator, 'controller').every((controller) => settingOf(controller, 'AUTO_BIND_AGENT') !== 'false');

/** A webhook of the operator with its configuration. */
export interface Injector {
  webhook: Webhook;
  configuration: WebhookConfiguration;
}

/** Returns the webhooks that inject the sidecar, if they can be read. */
export const injectorsOf = ({ cluster }: Survey): Injector[] =>
  seenOr(cluster.webhooks, []).flatMap((configuration) =>
    (configuration.webhooks ?? [])
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map((webhook) => ({ webhook, configuration })),
  );

/** Checks whether a Service has a ready endpoint. */
export const hasEndpoint = (
  slices: Extract<OperatorPlace['endpoints'], { kind: 'seen' }>['value'],
  service: string,
): boolean =>
  slices.some(
    ({ metadata, endpoints }) =>
      metadata.labels?.['kubernetes.io/service-name'] === service &&
      (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false),
  );
