import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isWithin, relativePath } from '../../shared/domain/relative-path.ts';
import { syncRevision } from '../../shared/domain/sync-revision.ts';
import { type Beyond, reportsOf } from './beyond.ts';
import type { GatewayInPlan, PlanView } from './plan-view.ts';
import { changeIn, changeText } from './plan-words.ts';

/**
 * Returns a plan whose paths contain no values of labels and variables, which the templates of destinations can insert.
 * If other revisions of `spec.sync` are in use, the destinations are unknown, and all paths are omitted; the same applies
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

/** Replaces a path after the constant beginning of a destination with a template, unless it is in another destination. */
function hiderOf(mappings: readonly { destination: string }[]): (path: string) => string {
  const starts = mappings.map(({ destination }) => {
    const [start = ''] = destination.split('{{');
    const parsed = relativePath(start);
    const path = parsed.kind === 'path' ? parsed.path : '';
    const isOpen = parsed.kind === 'path' && parsed.isDirectory && path !== '';
    return { path, start: isOpen ? `${path}/` : path, isTemplate: start !== destination };
  });
  const templates = starts.filter(({ isTemplate }) => isTemplate);
  const constants = starts.filter(({ isTemplate }) => !isTemplate);
  return (path) => {
    const longest = Math.max(
      ...constants.filter((each) => isWithin(path, each.path)).map((each) => each.path.length),
      -1,
    );
    const fitting = templates.filter(({ start }) => path.startsWith(start) && start.length >= longest);
    const [hidden] = fitting.sort((a, b) => b.start.length - a.start.length);
    return hidden ? `${hidden.start}…` : path;
  };
}
