import {
  AGENT_CLUSTER_ROLE,
  agentRoleBindingName,
  INJECTION_ENABLED,
  INJECTION_LABEL,
  POD_ANNOTATIONS,
} from '../../shared/api/names.ts';
import { checkRefused } from './check-refused.ts';
import { type Findings, failed, listed, ok, seenOr, unread, unseen, warning } from './finding.ts';
import { evictedPodsOf, gatewayPodsOf, hasSidecar, resourceOf } from './gateway-pods.ts';
import { bindsAgents, componentsOf, injectorsOf, watchedBy } from './installation.ts';
import { fits, type Pod, type RoleBinding } from './objects.ts';
import type { NamespaceSurvey, Survey } from './survey.ts';

const INJECTION = 'how-to/troubleshooting-injection.md';

/** Checks that the operator watches a namespace, and that its gateways get their sidecar. */
export function checkNamespace(survey: NamespaceSurvey, whole: Survey): Findings {
  const { name, namespace } = survey;
  if (namespace.kind === 'seen' && !namespace.value)
    return failed('namespace/there', `namespace ${name} not found`, {
      todo: 'specify a different one with --namespace',
      page: 'reference/kubectl-stoker.md#doctor',
    });
  return [
    checkState(survey),
    checkWatched(survey, whole),
    checkResources(survey),
    unseen('namespace/pods', `the pods in ${name}`, survey.pods),
    unseen('namespace/reports', `the SyncReports in ${name}`, survey.reports),
    unread('namespace/workloads', `the Deployments, StatefulSets, and DaemonSets in ${name}`, survey.workloads),
    unread('namespace/network-policy', `the NetworkPolicies in ${name}`, survey.networkPolicies),
    checkSelector(survey, whole),
    checkBindings(survey, whole),
    checkReceiverPermissions(survey, whole),
    checkWorkloads(survey),
    checkRefused(survey),
    checkEvicted(survey),
    checkEgress(survey),
  ];
}

function checkState({ name, namespace }: NamespaceSurvey): Findings {
  if (namespace.kind === 'hidden') return unseen('namespace/there', `the namespace ${name}`, namespace);
  if (namespace.value?.status?.phase !== 'Terminating') return [];
  return failed('namespace/there', `the namespace ${name} is being deleted`, {
    todo: 'wait until it is deleted, or check its conditions',
    page: 'how-to/uninstalling.md',
  });
}

function checkWatched({ name }: NamespaceSurvey, { operator }: Survey): Findings {
  const controllers = componentsOf(operator, 'controller');
  if (controllers.length === 0) return [];
  const watching = controllers.filter((each) => watchedBy(each).length === 0 || watchedBy(each).includes(name));
  if (watching.length > 0) return ok('namespace/watched', `a controller watches ${name}`);
  return failed('namespace/watched', `no controller watches ${name}: it is missing in controller.watchNamespaces`, {
    todo: 'add the namespace to the chart value',
    page: 'how-to/multi-tenancy.md',
  });
}

function checkResources({ name, asked, gatewaySyncs }: NamespaceSurvey): Findings {
  const check = 'namespace/gatewaysyncs';
  if (gatewaySyncs.kind === 'hidden') return unseen(check, `the GatewaySyncs in ${name}`, gatewaySyncs);
  const names = gatewaySyncs.value.map(({ metadata }) => metadata.name);
  const page = 'reference/kubectl-stoker.md#doctor';
  if (asked && !names.includes(asked))
    return failed(check, `GatewaySync ${asked} not found in the namespace ${name}`, {
      todo:
        names.length > 0
          ? `specify one of ${listed(names)}, or a different namespace with -n`
          : 'specify a different namespace with -n',
      page,
    });
  if (names.length > 0) return [];
  return warning(check, `no GatewaySync found in ${name}`, {
    todo: 'create one, or use -A to check all namespaces',
    page,
  });
}

/** Checks that the webhook selects the namespace. Otherwise annotated pods start without a sidecar or a message. */
function checkSelector({ name, namespace, pods }: NamespaceSurvey, survey: Survey): Findings {
  const injectors = injectorsOf(survey);
  const labels = seenOr(namespace, undefined)?.metadata.labels;
  if (injectors.length === 0 || !labels) return [];
  if (injectors.some(({ webhook }) => fits(webhook.namespaceSelector, labels)))
    return ok('namespace/injection', `annotated pods in ${name} get the sidecar`);
  const annotated = seenOr(pods, []).filter(isAnnotated).length;
  const make = annotated > 0 ? failed : warning;
  const count = annotated === 1 ? '1 pod is annotated' : `${annotated} pods are annotated`;
  const needsLabel = injectors.some(({ webhook }) =>
    webhook.namespaceSelector?.matchExpressions?.some(({ key }) => key === INJECTION_LABEL),
  );
  const todo = needsLabel
    ? `kubectl label namespace ${name} ${INJECTION_ENABLED}, then delete the pods`
    : 'check the chart values webhook.namespaceSelector and controller.watchNamespaces';
  return make('namespace/injection', `injection excludes ${name}${annotated > 0 ? `, although ${count}` : ''}`, {
    todo,
    page: INJECTION,
  });
}

const isAnnotated = ({ metadata }: Pod) => metadata.annotations?.[POD_ANNOTATIONS.inject] === 'true';

function checkBindings(survey: NamespaceSurvey, whole: Survey): Findings {
  const { name, roleBindings } = survey;
  const synced = gatewayPodsOf(survey).filter(hasSidecar);
  if (synced.length === 0) return [];
  const check = 'namespace/role-binding';
  if (roleBindings.kind === 'hidden') return unseen(check, `the RoleBindings in ${name}`, roleBindings);
  const accounts = [...new Set(synced.map(({ spec }) => spec.serviceAccountName ?? 'default'))];
  const bound = roleBindings.value.filter(
    ({ roleRef }) => roleRef.kind === 'ClusterRole' && roleRef.name === AGENT_CLUSTER_ROLE,
  );
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${name}`];
  const isBound = (account: string) =>
    bound.some(({ subjects = [] }) =>
      subjects.some((each) => (each.kind === 'Group' ? groups.includes(each.name) : isAccount(each, account, name))),
    );
  const unbound = accounts.filter((account) => !isBound(account));
  if (unbound.length === 0) return ok(check, `agents in ${name} have their permissions`);
  const names = [...new Set(synced.flatMap((pod) => resourceOf(pod, survey) ?? []))].map(agentRoleBindingName);
  const says = `no RoleBinding for agents with the ServiceAccount ${listed(unbound)}`;
  const page = 'explanation/security.md';
  // An administrator may have bound a different role, or one for the whole cluster.
  if (!bindsAgents(whole))
    return warning(check, `${says}: rbac.autoBindAgent.enabled is false`, {
      todo: `bind the ClusterRole ${AGENT_CLUSTER_ROLE} to it, unless another binding has the same permissions`,
      page,
    });
  return failed(check, `${says}: they cannot read their GatewaySync`, {
    todo: `check above that a controller leads: it creates ${listed(names) || `${AGENT_CLUSTER_ROLE}-NAME`}`,
    page,
  });
}

type Subject = NonNullable<RoleBinding['subjects']>[number];

const isAccount = ({ kind, name, namespace }: Subject, account: string, home: string): boolean =>
  kind === 'User' ? name === `system:serviceaccount:${home}:${account}` : name === account && namespace === home;

/** Checks that receivers can annotate GatewaySyncs. Otherwise they reject all deliveries with 503. */
function checkReceiverPermissions({ name, roleBindings }: NamespaceSurvey, { cluster, operator }: Survey): Findings {
  const check = 'namespace/receiver-rights';
  const { receiverBindings } = cluster;
  if (roleBindings.kind === 'hidden' || receiverBindings.kind === 'hidden') return [];
  const bindings = [...roleBindings.value, ...receiverBindings.value];
  return componentsOf(operator, 'receiver')
    .filter(({ metadata, spec: { template } }) => {
      const account = template.spec.serviceAccountName ?? 'default';
      const isOwn = (each: Subject) => isAccount(each, account, metadata.namespace);
      return !bindings.some(({ roleRef, subjects }) => roleRef.name === metadata.name && subjects?.some(isOwn));
    })
    .map(({ metadata }) =>
      failed(check, `the receiver ${metadata.name} is not allowed to annotate GatewaySyncs in ${name}`, {
        todo: 'reinstall the chart; if controller.watchNamespaces is set, add the namespace',
        page: 'how-to/troubleshooting-webhooks.md#5xx-not-stored',
      }),
    );
}

/** Checks for annotations on workloads, which their pods don't inherit. */
function checkWorkloads({ workloads }: NamespaceSurvey): Findings {
  const own = [POD_ANNOTATIONS.inject, POD_ANNOTATIONS.crName];
  return seenOr(workloads, []).flatMap(({ kind, metadata, spec }) => {
    const template = spec.template?.metadata?.annotations ?? {};
    const misplaced = own.filter((key) => key in (metadata.annotations ?? {}) && !(key in template));
    return misplaced.map((key) =>
      failed('namespace/workload', `the annotation ${key} is on the ${kind} ${metadata.name} instead of its pods`, {
        todo: 'move it to spec.template.metadata.annotations',
        page: INJECTION,
      }),
    );
  });
}

/** Reports evicted pods. Their replacements have separate findings. */
function checkEvicted(survey: NamespaceSurvey): Findings {
  const evicted = evictedPodsOf(survey);
  const [last] = evicted.slice(-1);
  if (!last) return [];
  const count = evicted.length === 1 ? '1 gateway pod' : `${evicted.length} gateway pods`;
  const says = `${count} in ${survey.name} ${evicted.length === 1 ? 'was' : 'were'} evicted`;
  return warning(
    'namespace/evicted',
    `${says}: ${last.metadata.name}: ${last.status?.message ?? 'no details reported'}`,
    {
      todo: 'request enough memory and ephemeral storage (for the sidecar in spec.agent.resources), then delete these pods',
      page: 'how-to/sizing.md',
    },
  );
}

/** Returns only a hint, because the addresses in a policy don't show which destinations are reachable. */
function checkEgress(survey: NamespaceSurvey): Findings {
  const pods = gatewayPodsOf(survey).filter(hasSidecar);
  const closing = seenOr(survey.networkPolicies, []).filter(
    ({ spec }) =>
      spec.policyTypes?.includes('Egress') && pods.some(({ metadata }) => fits(spec.podSelector, metadata.labels)),
  );
  if (closing.length === 0) return [];
  return warning('namespace/network-policy', `NetworkPolicies restrict the egress of agents in ${survey.name}`, {
    todo: `check that ${listed(closing.map(({ metadata }) => metadata.name))} allow egress to the API server, DNS, and the git server`,
    page: 'reference/network.md',
  });
}
