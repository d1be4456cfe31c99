import { GATEWAY_SYNC, GROUP, SYNC_RELEASE, SYNC_REPORT } from './group.ts';

/**
 * Permissions of agents in their namespace, as rules of a role. The ClusterRole of the chart grants exactly these, and the tests run agents
 * with them. Agents read Secrets from the volumes of their pod, not from the API server.
 */
export const AGENT_PERMISSIONS = [
  { apiGroups: [GROUP], resources: [GATEWAY_SYNC.plural], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [GROUP], resources: [SYNC_REPORT.plural], verbs: ['get', 'create', 'patch'] },
  { apiGroups: [GROUP], resources: [SYNC_RELEASE.plural], verbs: ['get'] },
];
