/**
 * Upper bounds of a GatewaySync. They keep the cost of the CEL rules within the API server's budget, and they are
 * part of the API: lowering one would make stored objects invalid.
 */
export const BOUNDS = {
  /** Characters of a resource name: it is part of a RoleBinding's name and of label values. */
  name: 63,
  profiles: 32,
  /** Mappings of one profile. */
  mappings: 64,
  /** Characters of a path, a pattern or a value. */
  text: 512,
  /** Patches of one mapping. */
  patches: 16,
  /** Values set by one patch. */
  patchValues: 32,
  /** Characters of a path once its templates are rendered: what Linux takes. */
  path: 4_096,
  /** Characters of a value once its templates are rendered. */
  value: 32_768,
  /** Characters of all that is rendered for one profile in the agent, and for all profiles of a spec in the controller. */
  rendered: 2_097_152,
  /** Keys of a path inside a JSON file. */
  depth: 64,
  /** Variables, patterns, refs of one list. */
  list: 64,
  /** Bytes of a git ref name. */
  ref: 255,
  /** Characters of all globs in `spec.webhook.allowedRefs` together. */
  allowedRefs: 4_096,
  /** Characters of a repository URL. */
  url: 1024,
  /** Characters of what a delivery says of its repository: an annotation of the receiver has no more. */
  repository: 300,
  /** Characters of all globs in `spec.webhook.repositories` together. */
  repositories: 4_096,
  /** Gateways listed in status; the counts next to the list cover all. */
  discoveredGateways: 200,
  /** Paths listed in the report of a dry run. */
  changes: 100,
  /** Characters of a message in status. */
  message: 1024,
  /** Of anything that is counted: an int32. */
  count: 2_147_483_647,
  /** Headers of one call to the gateway, and of all calls together. */
  headers: 16,
  allHeaders: 32,
  /** Characters of the name of a commit status, before and after its values are in place; GitLab takes no more. */
  statusContext: 255,
  /** Characters of a quantity, such as 64Mi. */
  quantity: 64,
  /** Characters of a name such as nvidia.com/gpu: a DNS name, a slash and a label. */
  resourceName: 317,
  reloadRequests: 8,
  waves: 16,
  windows: 16,
  /** Labels, conditions, or values of one condition, of a selector. */
  selector: 16,
  /** Characters of one selector: the controller keeps those of all resources. */
  selectorLength: 1_024,
  /** Gateways that a rollout may put up with. */
  failures: 100,
  /** Commits that can be gone back to. */
  history: 20,
} as const;
