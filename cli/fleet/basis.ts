import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { Beyond, GatewayKind } from './beyond.ts';

/** Source of the gateways in a view, and so of all numbers about them, such as those of the waves. */
export interface Basis {
  /** The reports of all gateways, or only the status of the GatewaySync. */
  from: 'reports' | 'status';
  /** Number of gateways in the view. */
  shown: number;
  /** Number of gateways that the controller counts. */
  total: number;
  /** Kinds that the caller isn't allowed to list. */
  denied?: GatewayKind[];
  isLoading?: true;
}

/** Returns the source of a view. If pods aren't readable, reports are enough if there is one for each gateway. */
export function basisOf({ reports, pods, isLoading }: Beyond, counts: { shown: number; total: number }): Basis {
  const hidden: GatewayKind[] = [...(reports ? [] : (['SyncReports'] as const)), ...(pods ? [] : (['pods'] as const))];
  const isWhole = reports !== undefined && (pods !== undefined || counts.shown >= counts.total);
  return withoutUndefined({
    from: isWhole ? ('reports' as const) : ('status' as const),
    ...counts,
    denied: hidden.length > 0 && !isLoading ? hidden : undefined,
    isLoading: hidden.length > 0 && isLoading ? (true as const) : undefined,
  });
}

/** Checks whether no gateway is missing in a view. */
export const isWhole = ({ from, shown, total }: Basis): boolean => from === 'reports' || shown >= total;

/** Describes the source, and why it isn't complete. */
export function basisWords(
  { from, shown, total, denied = [], isLoading }: Basis,
  format: (count: number) => string = String,
): string {
  const gateways = (count: number) => `${format(count)} ${count === 1 ? 'gateway' : 'gateways'}`;
  const why = denied.length > 0 ? `; not allowed to list ${denied.join(' and ')}` : '';
  if (from === 'reports') {
    const others = shown < total ? `; the status counts ${format(total)}` : '';
    return `the reports of ${shown < total || shown === 1 ? '' : 'all '}${gateways(shown)}${others}${why}`;
  }
  const listed = shown < total ? `, which lists ${format(shown)} of ${gateways(total)}` : '';
  return `the status alone${listed}${isLoading ? '; the reports are still being read' : why}`;
}
