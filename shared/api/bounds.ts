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
  /** Checks of one profile. */
  checks: 16,
  /** Patches of one mapping. */
  patches: 16,
  /** Values set by one patch. */
  patchValues: 32,
  /** Characters of a path once its templates are rendered: the limit of Linux. */
  path: 4_096,
  /** Characters of a value once its templates are rendered. */
  value: 32_768,
  /** Total characters rendered for one profile in the agent, and for all profiles of a spec in the controller. */
  rendered: 2_097_152,
  /** Keys of a path inside a JSON file. */
  depth: 64,
  /** Entries of one list of variables, patterns, or refs. */
  list: 64,
  /** Bytes of a git ref name. */
  ref: 255,
  /** Characters of a range of versions: every tag is compared with each of its parts. */
  range: 128,
  /** Characters before the version in the names of tags. */
  tagPrefix: 128,
  /** Total characters of the globs in `spec.webhook.allowedRefs`. */
  allowedRefs: 4_096,
  /** Characters of a repository URL. */
  url: 1024,
  /** Characters of a delivery's repository, the same limit as for the receiver's annotation. */
  repository: 300,
  /** Characters of a request's ID, and of its time or sender. */
  requestId: 128,
  sender: 64,
  /** Characters of an order, such as a commit or the name of a release. */
  order: 128,
  /** Total characters of the globs in `spec.webhook.repositories`. */
  repositories: 4_096,
  /** Gateways listed in status; the counts next to the list cover all gateways. */
  discoveredGateways: 200,
  /** Characters of a change and its path in a report. */
  change: 1024,
  /** Paths listed in the report of a dry run. */
  changes: 100,
  /** Paths listed in a preview. */
  previewPaths: 20,
  /** Different changes of a release in the status; if there are more, an approval covers every change. */
  digests: 100,
  /** Approvals of one release, and those that a rollout applies. */
  approvals: 20,
  /** Characters of a user's name. */
  userName: 512,
  /** Characters of a message in status. */
  message: 1024,
  /** Maximum of a counter: an int32. */
  count: 2_147_483_647,
  /** Headers of one call to the gateway, and of all its calls. */
  headers: 16,
  allHeaders: 32,
  /** Characters of a commit status's name, before and after it is rendered; the limit of GitLab. */
  statusContext: 255,
  /** Characters of a quantity, such as 64Mi. */
  quantity: 64,
  /** Characters of a name such as nvidia.com/gpu: a DNS name, a slash and a label. */
  resourceName: 317,
  reloadRequests: 8,
  /** Values of a response that one check compares. */
  expectations: 16,
  /** Characters of a request's body, before its templates are rendered. */
  body: 8_192,
  waves: 16,
  windows: 16,
  /** Labels, conditions, or values of one condition, of a selector. */
  selector: 16,
  /** Characters of one selector: the controller keeps the selectors of all resources in memory. */
  selectorLength: 1_024,
  /** Failed gateways that a rollout can tolerate. */
  failures: 100,
  /** Gateways in progress whose time is kept; that of others starts at the last admission. */
  inProgress: 100,
  /** Releases that a resource can roll back to. */
  history: 20,
  /** Characters of a release's name: that of its resource, a hyphen, and a number. */
  releaseName: 74,
} as const;
