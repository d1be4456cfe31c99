import { AGENT_PERMISSIONS } from '../../shared/api/agent-permissions.ts';

/** The rules of the ClusterRole for agents, which a test compares with the chart's. */
export const agentRules = AGENT_PERMISSIONS.map(({ apiGroup, resource, verbs }) => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs,
}));

/** The ClusterRole that the chart installs for agents. */
export const agentClusterRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'sync-agent' },
  rules: agentRules,
};
