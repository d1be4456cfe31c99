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

/** All that the checks look at, read with the rights of the caller. */
export interface Survey {
  /** Time of the API server, in milliseconds since the epoch. */
  now: number;
  /** Version of this plugin. */
  version: string;
  cluster: ClusterSurvey;
  operator: OperatorSurvey;
  /** GatewaySyncs of all namespaces, where these were asked for; hidden, only the caller's own namespace is looked at. */
  everywhere?: Look<unknown> | undefined;
  namespaces: NamespaceSurvey[];
}

export interface ClusterSurvey {
  server: Look<{ gitVersion: string }>;
  /** Versions of the API group that are served; empty where it is not known. */
  groupVersions: Look<string[]>;
  /** Names of the resources of the version that the plugin knows. */
  resources: Look<string[]>;
  crds: Look<CustomResourceDefinition[]>;
  webhooks: Look<WebhookConfiguration[]>;
  policies: Look<Policy[]>;
  policyBindings: Look<PolicyBinding[]>;
  agentRole: Look<Role | undefined>;
  /** Those that bind a ClusterRole of the receiver. */
  receiverBindings: Look<RoleBinding[]>;
}

export interface OperatorSurvey {
  /** Deployments of controllers and receivers, of all installations that the caller may see. */
  deployments: Look<Deployment[]>;
  /** Where they were looked for; undefined is everywhere. */
  lookedIn: string[] | undefined;
  /** What is in the namespaces of these, by namespace. */
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
  /** Certificates that controllers serve the webhook with, PEM, by the names of their Secrets; empty where there is none. */
  certificates: Record<string, Look<string>>;
}

export interface NamespaceSurvey {
  name: string;
  /** The GatewaySync that was asked for; undefined are all. */
  asked?: string | undefined;
  namespace: Look<Namespace | undefined>;
  gatewaySyncs: Look<GatewaySync[]>;
  reports: Look<SyncReport[]>;
  pods: Look<Pod[]>;
  roleBindings: Look<RoleBinding[]>;
  workloads: Look<Workload[]>;
  networkPolicies: Look<NetworkPolicy[]>;
  /** Of pods that could not be made, or whose volumes could not. */
  events: Look<Event[]>;
  /** Secrets that GatewaySyncs name, by name. */
  secrets: Record<string, Look<SecretKeys | undefined>>;
}
