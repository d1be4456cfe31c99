import { AGENT_PERMISSIONS } from '../../shared/api/agent-permissions.ts';
import { AGENT_CLUSTER_ROLE } from '../../shared/api/names.ts';
import { type Findings, failed, ok, unread, unseen, warning } from './finding.ts';
import { componentsOf } from './installation.ts';
import { type Role, settingOf } from './objects.ts';
import type { ClusterSurvey, Survey } from './survey.ts';

const SECURITY = 'explanation/security.md';

/** Checks the permissions of agents, and the policies that restrict each program. */
export function checkPermissions(survey: Survey): Findings {
  const { receiverBindings } = survey.cluster;
  return [
    checkAgentRole(survey.cluster),
    checkPolicies(survey),
    unread('rights/receiver-bindings', 'the ClusterRoleBindings of receivers', receiverBindings),
  ];
}

function checkAgentRole({ agentRole }: ClusterSurvey): Findings {
  const check = 'rights/cluster-role';
  const advice = { todo: 'install the chart with rbac.agentClusterRole.create', page: 'explanation/security.md' };
  if (agentRole.kind === 'hidden') return unseen(check, `the ClusterRole ${AGENT_CLUSTER_ROLE}`, agentRole);
  if (!agentRole.value)
    return failed(check, `ClusterRole ${AGENT_CLUSTER_ROLE} not found: agents have no permissions`, advice);
  const role = agentRole.value;
  const missing = AGENT_PERMISSIONS.flatMap(({ apiGroups: [apiGroup = ''], resources: [resource = ''], verbs }) =>
    verbs.filter((verb) => !allows(role, { apiGroup, resource, verb })).map((verb) => `${verb} ${resource}`),
  );
  if (missing.length === 0) return ok(check, `the ClusterRole ${AGENT_CLUSTER_ROLE} has the required permissions`);
  return failed(check, `the ClusterRole ${AGENT_CLUSTER_ROLE} does not allow ${missing.join(', ')}`, advice);
}

/** Checks whether a role allows a verb for all objects of a kind. */
const allows = ({ rules }: Role, wanted: { apiGroup: string; resource: string; verb: string }): boolean =>
  (rules ?? []).some(
    ({ apiGroups = [], resources = [], resourceNames = [], verbs }) =>
      resourceNames.length === 0 &&
      [wanted.apiGroup, '*'].some((group) => apiGroups.includes(group)) &&
      [wanted.resource, '*'].some((resource) => resources.includes(resource)) &&
      [wanted.verb, '*'].some((verb) => verbs.includes(verb)),
  );

function checkPolicies(survey: Survey): Findings {
  const { policies, policyBindings } = survey.cluster;
  if (policies.kind === 'hidden') return unseen('policies/installed', 'ValidatingAdmissionPolicies', policies);
  if (policyBindings.kind === 'hidden')
    return unseen('policies/bound', 'ValidatingAdmissionPolicyBindings', policyBindings);
  const wanted = wantedPolicies(survey);
  const findings = wanted.flatMap((name) => {
    const page = SECURITY;
    if (!policies.value.some(({ metadata }) => metadata.name === name))
      return failed(
        'policies/installed',
        `ValidatingAdmissionPolicy ${name} not found: its program has too many permissions`,
        { todo: 'reinstall the chart', page },
      );
    const bindings = policyBindings.value.filter(({ spec }) => spec.policyName === name);
    if (bindings.some(({ spec }) => spec.validationActions?.includes('Deny'))) return [];
    const says = bindings.length > 0 ? 'does not deny' : 'is not bound';
    return failed('policies/bound', `the ValidatingAdmissionPolicy ${name} ${says}, so it has no effect`, {
      todo: 'reinstall the chart: its binding has validationActions [Deny]',
      page,
    });
  });
  if (findings.length > 0) return findings;
  return wanted.length > 0
    ? ok('policies/installed', `the ${wanted.length} policies of the chart are in effect`)
    : warning('policies/installed', 'the policies of the chart are unknown, because no controller was found', {
        todo: 'see the findings about the controller above',
        page: SECURITY,
      });
}

/** Returns the policies that an installation should have with the settings of its Deployments. */
function wantedPolicies({ operator }: Survey): string[] {
  const controllers = componentsOf(operator, 'controller').flatMap((controller) => {
    const { name } = controller.metadata;
    const isSet = (variable: string) => settingOf(controller, variable) === 'true';
    const selfSigned = settingOf(controller, 'WEBHOOK_SELF_SIGNED');
    return [
      ...[`${name}-agent`, `${name}-approvers`, `${name}-releases`],
      ...(isSet('AUTO_BIND_AGENT') ? [`${name}-controller`] : []),
      ...(isSet('GITHUB_APP') || selfSigned ? [`${name}-secrets`] : []),
      ...(selfSigned ? [selfSigned] : []),
    ];
  });
  return [...controllers, ...componentsOf(operator, 'receiver').map(({ metadata }) => metadata.name)];
}
