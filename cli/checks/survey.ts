import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import type { Look } from './finding.ts';
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
  everywhere?: Look<unknown> | undefined;
  namespaces: NamespaceSurvey[];
}

export interface ClusterSurvey {
  server: Look<{ gitVersion: string }>;
  /** Served versions of the API group; empty if it isn't installed. */
  groupVersions: Look<string[]>;
  /** Resource names in the plugin's API version. */
  resources: Look<string[]>;
  crds: Look<CustomResourceDefinition[]>;
  webhooks: Look<WebhookConfiguration[]>;
  policies: Look<Policy[]>;
  policyBindings: Look<PolicyBinding[]>;
  agentRole: Look<Role | undefined>;
  receiverBindings: Look<RoleBinding[]>;
}

export interface OperatorSurvey {
  /** Deployments of controllers and receivers of all visible installations. */
  deployments: Look<Deployment[]>;
  /** Searched namespaces; undefined means all. */
  lookedIn: string[] | undefined;
  /** Objects in the namespaces of the Deployments, by namespace. */
  places: Record<string, OperatorPlace>;
}

export interface OperatorPlace {
  pods: Look<Pod[]>;
  lease: Look<Lease | undefined>;
  services: Look<Service[]>;
  endpoints: Look<EndpointSlice[]>;
  networkPolicies: Look<NetworkPolicy[]>;
  /** Secrets that the receiver mounts, by name. */
  secrets: Record<string, Look<SecretKeys | undefined>>;
  /** Serving certificates of controllers (PEM) by Secret name; empty if missing. */
  certificates: Record<string, Look<string>>;
}

export interface NamespaceSurvey {
  name: string;
  /** Name of the requested GatewaySync; undefined means all. */
  asked?: string | undefined;
  namespace: Look<Namespace | undefined>;
  gatewaySyncs: Look<GatewaySync[]>;
  reports: Look<SyncReport[]>;
  pods: Look<Pod[]>;
  roleBindings: Look<RoleBinding[]>;
  workloads: Look<Workload[]>;
  networkPolicies: Look<NetworkPolicy[]>;
  /** Events about rejected pods and unavailable volumes. */
  events: Look<Event[]>;
  /** Secrets of GatewaySyncs, by name. */
  secrets: Record<string, Look<SecretKeys | undefined>>;
}
