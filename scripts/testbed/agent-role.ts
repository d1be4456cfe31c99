/** The ClusterRole that the chart installs for agents. */
export const agentClusterRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'sync-agent' },
  rules: [
    { apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['sync.io'], resources: ['syncreports'], verbs: ['get', 'create', 'update', 'patch'] },
    { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['get'] },
  ],
};
