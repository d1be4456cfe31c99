import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isWithin, relativePath } from '../../shared/domain/relative-path.ts';
import { syncRevision } from '../../shared/domain/sync-revision.ts';
import type { PlanView } from './plan-view.ts';
import { changeIn, changeText } from './plan-words.ts';

/**
 * Returns a plan whose paths contain no values of labels and variables, which the templates of destinations can insert.
 * If other revisions of `spec.sync` are in use, the destinations are unknown, and all paths are omitted.
 */
export function withoutValues(view: PlanView, { spec: { sync }, status }: GatewaySync): PlanView {
  const { rollout } = status ?? {};
  const revisions = [rollout?.revision, rollout?.stableRevision, rollout?.nextRevision, rollout?.preview?.revision];
  const revision = syncRevision(sync);
  const isKnown = revisions.every((other) => other === undefined || other === revision);
  const { everyCommit, ...rest } = view;
  if (!isKnown) return { ...rest, groups: view.groups.map((group) => ({ ...group, paths: [] })) };
  const hide = hiderOf(Object.values(sync.profiles).flatMap(({ mappings }) => mappings));
  const hideIn = (text: string) => {
    const change = changeIn(text);
    return changeText({ ...change, path: hide(change.path) });
  };
  const groups = view.groups.map((group) => ({ ...group, paths: [...new Set(group.paths.map(hideIn))] }));
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
