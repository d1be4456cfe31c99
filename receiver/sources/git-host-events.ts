import * as v from 'valibot';
import { asksFor, event, flag, nothing, text } from './read-event.ts';

/** Checks whether a push deleted its ref, which git servers report with a flag, or with the null commit as its new value. */
export function isDeletion({ after, deleted }: { after?: unknown; deleted?: unknown }): boolean {
  return deleted === true || (typeof after === 'string' && /^(?:0{40}|0{64})$/.test(after));
}

/** The push event of GitHub, which GitLab, Gitea, Forgejo, and Gogs share: a full ref name and its new value. */
export const readPush = event(v.object({ ref: text, after: text, deleted: flag }), (push) => {
  if (isDeletion(push)) return nothing('Deleted');
  if (push.ref && !/^refs\/(?:heads|tags)\//.test(push.ref)) return nothing('NotABranchOrTag');
  return asksFor(push.ref);
});

/** The create event of GitHub, Gitea, Forgejo, and Gogs: a short name and its type, branch or tag. */
export const readCreated = event(v.object({ ref: text, ref_type: text }), ({ ref, ref_type }) => {
  if (ref === undefined || ref === null) return nothing('NoRef');
  if (ref_type !== 'branch' && ref_type !== 'tag') return nothing('NotABranchOrTag');
  const prefix = ref_type === 'branch' ? 'refs/heads/' : 'refs/tags/';
  return asksFor(ref.startsWith(prefix) ? ref : prefix + ref);
});

const release = v.object({ tag_name: text, draft: flag });

/** The release event of GitHub, which Gitea, Forgejo, and Gogs share. */
export const readRelease = event(v.object({ action: text, release: v.nullish(release) }), ({ action, release }) => {
  if (!release || release.tag_name === undefined || release.tag_name === null) return nothing('NoRef');
  // Handwritten payloads can omit the action; git servers never do.
  if (action && action !== 'published' && action !== 'released') return nothing('NotPublished');
  return release.draft ? nothing('Draft') : asksFor(release.tag_name);
});
