import { GATEWAY_SYNC, GROUP, SYNC_REPORT } from './group.ts';

/** A rule of a role, without wildcards. */
export interface Permission {
  apiGroup: string;
  resource: string;
  verbs: readonly string[];
}

/**
 * Permissions of agents in their namespace. The ClusterRole of the chart grants exactly these, and the tests run agents
 * with them. Agents read Secrets from the volumes of their pod, not from the API server.
 */
export const AGENT_PERMISSIONS: readonly Permission[] = [
  { apiGroup: GROUP, resource: GATEWAY_SYNC.plural, verbs: ['get', 'list', 'watch'] },
  { apiGroup: GROUP, resource: SYNC_REPORT.plural, verbs: ['get', 'create', 'patch'] },
  { apiGroup: 'apps', resource: 'controllerrevisions', verbs: ['get'] },
];
