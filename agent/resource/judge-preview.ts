import { chooseRelease, previewedRelease, type Release } from './choose-release.ts';
import { findView, type Intent, intentOf, missingProfile, type Surroundings } from './judge-resource.ts';
import { type ProfileView, viewProfile } from './stored-syncs.ts';
import type { WatchedResource } from './watch-resource.ts';

/** A release to preview, and the stable one. */
export interface PreviewTask {
  commit: string;
  revision: string;
  /** The intent to deliver the release, or the problem if it doesn't have the profile. */
  candidate: Intent | string;
  /** The same for the stable release, which `candidate` is compared with; undefined if it is unknown. */
  stable: Intent | string | undefined;
  /** The pod's labels, which the result depends on. */
  labels: ReadonlyMap<string, string>;
}

/** `own` is the gateway's release, if known. */
export type PreviewVerdict =
  | { kind: 'none'; own: Release | undefined }
  /** A revision or the labels can't be read yet. */
  | { kind: 'waiting'; commit: string }
  | { kind: 'preview'; task: PreviewTask };

/** Returns the release that the gateway must preview: also while it is paused, and as if it made no dry runs. */
export function judgePreview(
  resource: WatchedResource | undefined,
  profileName: string,
  { self, findSync }: Surroundings,
): PreviewVerdict {
  if (!resource?.rollout) return { kind: 'none', own: undefined };
  const { rollout, spec } = resource;
  const { labels } = self();
  const releases = previewedRelease(rollout);
  if (!releases) {
    const own = chooseRelease(rollout, self());
    return { kind: 'none', own: typeof own === 'string' ? undefined : own };
  }
  const { candidate, stable } = releases;
  const { commit, revision } = candidate;
  const views = { rollout, live: viewProfile(spec.sync, profileName), findSync };
  const view = findView(candidate, views);
  const before = stable && findView(stable, views);
  if (!labels || typeof view === 'string' || typeof before === 'string') return { kind: 'waiting', commit };
  const task = {
    commit,
    revision,
    candidate: intentFor(candidate, view, resource),
    stable: stable && before && intentFor(stable, before, resource),
    labels,
  };
  return { kind: 'preview', task };
}

/** The generation doesn't matter for the files. */
function intentFor(release: Release, view: ProfileView, resource: WatchedResource): Intent | string {
  const { profile } = view;
  if (!profile) return missingProfile(view);
  const intent = intentOf({ ...resource, generation: 0 }, { ...profile, paused: false, dryRun: false }, release);
  return { ...intent, revision: release.revision };
}
