import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import type { ReadResult } from './finding.ts';
import type {
  CustomResourceDefinition,
  Deployment,
  EndpointSlice,
  Event,
  Lease,
  Namespace,
  NetworkPolicy,
  Pod,
  Policy,
  PolicyBinding,
  Role,
  RoleBinding,
  SecretKeys,
  Service,
  WebhookConfiguration,
  Workload,
} from './objects.ts';

/** Input of all checks, read with the permissions of the caller. */
export interface Survey {
  /** Time of the API server, in milliseconds since the epoch. */
  now: number;
  /** Version of this plugin. */
  version: string;
  cluster: ClusterSurvey;
  operator: OperatorSurvey;
  /** GatewaySyncs of all namespaces, if requested. If hidden, only the caller's namespace is checked. */
  everywhere?: ReadResult<unknown> | undefined;
  namespaces: NamespaceSurvey[];
}

export interface ClusterSurvey {
  server: ReadResult<{ gitVersion: string }>;
  /** Served versions of the API group; empty if it isn't installed. */
  groupVersions: ReadResult<string[]>;
  /** Resource names in the plugin's API version. */
  resources: ReadResult<string[]>;
  crds: ReadResult<CustomResourceDefinition[]>;
  webhooks: ReadResult<WebhookConfiguration[]>;
  policies: ReadResult<Policy[]>;
  policyBindings: ReadResult<PolicyBinding[]>;
  agentRole: ReadResult<Role | undefined>;
  receiverBindings: ReadResult<RoleBinding[]>;
}

export interface OperatorSurvey {
  /** Deployments of controllers and receivers of all visible installations. */
  deployments: ReadResult<Deployment[]>;
  /** Searched namespaces; undefined means all. */
  searched: string[] | undefined;
  /** Objects in the namespaces of the Deployments, by namespace. */
  places: Record<string, OperatorPlace>;
}

export interface OperatorPlace {
  pods: ReadResult<Pod[]>;
  /** Leases of controllers, by name. */
  leases: Record<string, ReadResult<Lease | undefined>>;
  services: ReadResult<Service[]>;
  endpoints: ReadResult<EndpointSlice[]>;
  networkPolicies: ReadResult<NetworkPolicy[]>;
  /** Secrets that the receiver mounts, by name. */
  secrets: Record<string, ReadResult<SecretKeys | undefined>>;
  /** Serving certificates of controllers (PEM) by Secret name. */
  certificates: Record<string, ReadResult<string | undefined>>;
}

export interface NamespaceSurvey {
  name: string;
  /** Name of the requested GatewaySync; undefined means all. */
  asked?: string | undefined;
  namespace: ReadResult<Namespace | undefined>;
  gatewaySyncs: ReadResult<GatewaySync[]>;
  reports: ReadResult<SyncReport[]>;
  pods: ReadResult<Pod[]>;
  roleBindings: ReadResult<RoleBinding[]>;
  workloads: ReadResult<Workload[]>;
  networkPolicies: ReadResult<NetworkPolicy[]>;
  /** Events about rejected pods and unavailable volumes. */
  events: ReadResult<Event[]>;
  /** Secrets of GatewaySyncs, by name. */
  secrets: Record<string, ReadResult<SecretKeys | undefined>>;
}
