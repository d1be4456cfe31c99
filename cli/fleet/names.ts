import type { GatewaySync } from '../../shared/api/gateway-sync.ts';

/** Returns `namespace/name`. */
export const addressOf = ({ metadata: { namespace, name } }: GatewaySync): string => `${namespace}/${name}`;

/** Describes the gateways by their number. */
export function gatewaysOf({ status }: GatewaySync): string {
  const total = status?.gateways?.total ?? 0;
  return total === 1 ? 'its gateway' : `its ${total} gateways`;
}

/** Describes an effect on zero, one, or several gateways. */
export function gatewaysDo(gatewaySync: GatewaySync, says: { one: string; many: string; none: string }): string {
  const total = gatewaySync.status?.gateways?.total ?? 0;
  if (total === 0) return `it has no gateways${says.none}`;
  return `${gatewaysOf(gatewaySync)} ${total === 1 ? says.one : says.many}`;
}

const KEEPERS: readonly [label: string, keeper: string][] = [
  ['kustomize.toolkit.fluxcd.io/name', 'Flux'],
  ['helm.toolkit.fluxcd.io/name', 'Flux'],
  ['argocd.argoproj.io/instance', 'Argo CD'],
  ['argocd.argoproj.io/tracking-id', 'Argo CD'],
];

/** Warns if a GitOps tool manages the resource; otherwise empty. */
export function keeperOf({ metadata: { labels = {}, annotations = {} } }: GatewaySync): string {
  const [, keeper] = KEEPERS.find(([key]) => key in labels || key in annotations) ?? [];
  return keeper
    ? ` ${keeper} manages this resource and may revert spec.paused: for a permanent change, edit it in git.`
    : '';
}

/** Maximum gateways listed in one line. */
const NAMED = 5;

/** Lists the first gateways by name. */
export function namesOf(group: readonly { gateway: string; pod: string }[]): string {
  const names = group.map(({ gateway, pod }) => (gateway === pod ? gateway : `${gateway} (${pod})`));
  const hidden = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}
