import { AGENT_PERMISSIONS } from '../../shared/api/agent-permissions.ts';

/** The ClusterRole that the chart installs for agents; a test compares its rules with the chart's. */
export const agentClusterRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'sync-agent' },
  rules: AGENT_PERMISSIONS,
};
