import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Mapping } from '../../shared/api/sync.ts';
import { relativePath } from '../../shared/domain/files/relative-path.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { type Beyond, reportsOf } from './beyond.ts';
import type { GatewayInPlan, PlanView } from './plan-view.ts';
import { changeIn, changeText } from './plan-words.ts';

/**
 * Returns a plan whose paths contain no values of labels and variables, which the templates of mappings can insert. If
 * other revisions of `spec.sync` are in use, the destinations are unknown, and all paths are omitted; the same applies
 * to gateways whose files may be of an earlier one.
 */
export function withoutValues(view: PlanView, gatewaySync: GatewaySync, beyond: Beyond): PlanView {
  const { spec, status } = gatewaySync;
  const { sync } = spec;
  const { rollout } = status ?? {};
  const revisions = [rollout?.revision, rollout?.stableRevision, rollout?.nextRevision, rollout?.preview?.revision];
  const revision = syncRevision(sync);
  const isKnown = revisions.every((other) => other === undefined || other === revision);
  const { everyCommit, ...rest } = view;
  if (!isKnown) return { ...rest, groups: view.groups.map((group) => ({ ...group, paths: [] })) };
  const hide = hiderOf(Object.values(sync.profiles).flatMap(({ mappings }) => mappings));
  const hideIn = (text: string) => {
    const change = changeIn(text);
    // Without a kind, the beginning of the path is missing.
    return changeText({ ...change, path: change.kind ? hide(change.path) : '…' });
  };
  const reportOf = reportsOf(gatewaySync.metadata.namespace, beyond);
  const isCurrent = ({ pod }: GatewayInPlan) => {
    const report = reportOf({ podName: pod });
    if (report?.revision !== undefined) return report.revision === revision;
    return report?.state === 'Synced' && report.generation === gatewaySync.metadata.generation;
  };
  const groups = view.groups.map((group) => ({
    ...group,
    paths: group.gateways.every(isCurrent) ? [...new Set(group.paths.map(hideIn))] : [],
  }));
  return { ...rest, groups, ...(everyCommit && { everyCommit: hide(everyCommit) }) };
}

/** Replaces the part of a path in which a value can begin, whichever mapping the path is from. */
function hiderOf(mappings: readonly Mapping[]): (path: string) => string {
  const starts = mappings.flatMap((mapping) => valueStartOf(mapping) ?? []).sort((a, b) => a.length - b.length);
  return (path) => {
    const start = starts.find((each) => path.startsWith(each));
    return start === undefined ? path : `${start}…`;
  };
}

/** Returns the constant beginning of the paths that contain a value; undefined if none does. */
function valueStartOf({ source, destination, type }: Mapping): string | undefined {
  const [constant = ''] = destination.split('{{');
  const parsed = relativePath(constant);
  const { path, isDirectory } = parsed.kind === 'path' ? parsed : { path: '', isDirectory: true };
  // A single file keeps its name in a directory.
  const keepsName = isDirectory && type !== 'dir' && /\}\}[^/]*$/.test(source);
  if (constant === destination && !keepsName) return undefined;
  return isDirectory && path !== '' ? `${path}/` : path;
}
