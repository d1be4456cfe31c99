import { GATEWAY_SYNC, GROUP, SYNC_REPORT } from '../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE } from '../../shared/api/names.ts';
import { componentsOf } from './check-operator.ts';
import { type Findings, failed, ok, unseen, warning } from './finding.ts';
import { type Role, settingOf } from './objects.ts';
import type { ClusterSurvey, Survey } from './survey.ts';

const SECURITY = 'explanation/security.md';

/** Checks the permissions of agents, and the policies that restrict each program. */
export function checkPermissions(survey: Survey): Findings {
  return [checkAgentRole(survey.cluster), checkPolicies(survey)];
}

/** Permissions that agents require. */
const NEEDED: readonly (readonly [plural: string, verbs: readonly string[]])[] = [
  [GATEWAY_SYNC.plural, ['get', 'list', 'watch']],
  [SYNC_REPORT.plural, ['get', 'create', 'update', 'patch']],
];

function checkAgentRole({ agentRole }: ClusterSurvey): Findings {
  const check = 'rights/cluster-role';
  const advice = { todo: 'install the chart with rbac.agentClusterRole.create', page: 'explanation/security.md' };
  if (agentRole.kind === 'hidden') return unseen(check, `the ClusterRole ${AGENT_CLUSTER_ROLE}`, agentRole);
  if (!agentRole.value)
    return failed(check, `ClusterRole ${AGENT_CLUSTER_ROLE} not found: agents have no permissions`, advice);
  const role = agentRole.value;
  const missing = NEEDED.flatMap(([plural, verbs]) =>
    verbs.filter((verb) => !allows(role, plural, verb)).map((verb) => `${verb} ${plural}`),
  );
  if (missing.length === 0) return ok(check, `the ClusterRole ${AGENT_CLUSTER_ROLE} has the required permissions`);
  return failed(check, `the ClusterRole ${AGENT_CLUSTER_ROLE} does not allow ${missing.join(', ')}`, advice);
}

const allows = ({ rules }: Role, plural: string, verb: string): boolean =>
  (rules ?? []).some(
    ({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.some((group) => group === GROUP || group === '*') &&
      resources.some((resource) => resource === plural || resource === '*') &&
      (verbs.includes(verb) || verbs.includes('*')),
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
      ...[`${name}-agent`, `${name}-revisions`],
      ...(isSet('AUTO_BIND_AGENT') ? [`${name}-controller`] : []),
      ...(isSet('APPROVER_ROLE') ? [`${name}-approvers`] : []),
      ...(isSet('GITHUB_APP') || selfSigned ? [`${name}-secrets`] : []),
      ...(selfSigned ? [selfSigned] : []),
    ];
  });
  return [...controllers, ...componentsOf(operator, 'receiver').map(({ metadata }) => metadata.name)];
}

/** Checks whether all visible controllers create RoleBindings for agents. */
export const bindsAgents = ({ operator }: Survey): boolean =>
  componentsOf(operator, 'controller').every((controller) => settingOf(controller, 'AUTO_BIND_AGENT') !== 'false');
