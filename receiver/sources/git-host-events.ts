import * as v from 'valibot';
import { isObject } from '../../shared/domain/text/objects.ts';
import type { JsonObject } from './json-object.ts';
import { asksFor, event, flag, nothing, type ReadEvent, text } from './read-event.ts';

/** Checks whether a push deleted its ref, which git servers report with a flag, or with the null commit as its new value. */
export function isDeletion({ after, deleted }: { after?: unknown; deleted?: unknown }): boolean {
  return deleted === true || (typeof after === 'string' && /^(?:0{40}|0{64})$/.test(after));
}

/**
 * Checks whether a git server wrote a body, and not a user: GitHub, Gitea, Forgejo, and Gogs name the sender, and the type
 * of a created or deleted ref, GitLab the kind of event. Such a body has all fields of its event. Because signatures don't
 * cover headers, a copy of it can have the header of another event, or none.
 */
export function isFromGitServer({ sender, ref_type, object_kind }: JsonObject): boolean {
  return isObject(sender) || typeof ref_type === 'string' || typeof object_kind === 'string';
}

/** Checks for the new value of a ref, which no other event has next to `ref`, and for GitLab's kinds of pushes. */
const isPush = ({ after, object_kind }: JsonObject): boolean =>
  typeof after === 'string' || object_kind === 'push' || object_kind === 'tag_push';

/** The push event of GitHub, which Gitea, Forgejo, and Gogs share. */
export const readPush: ReadEvent = (body) =>
  isFromGitServer(body) && !isPush(body) ? nothing('OtherEvent') : readPushedRef(body);

/** A push, whose kind is certain: a full ref name and its new value. */
export const readPushedRef = event(v.object({ ref: text, after: text, deleted: flag }), (push) => {
  if (isDeletion(push)) return nothing('Deleted');
  if (push.ref && !/^refs\/(?:heads|tags)\//.test(push.ref)) return nothing('NotABranchOrTag');
  return asksFor(push.ref);
});

/**
 * The create event of GitHub, Gitea, Forgejo, and Gogs: a short name and its type, branch or tag. The delete event has
 * both fields as well, but neither GitHub's `master_branch` nor the `sha` of the others.
 */
export const readCreated = event(
  v.object({ ref: text, ref_type: text, master_branch: text, sha: text }),
  ({ ref, ref_type, master_branch, sha }) => {
    if (ref === undefined || ref === null) return nothing('NoRef');
    if (ref_type !== 'branch' && ref_type !== 'tag') return nothing('NotABranchOrTag');
    if (!master_branch && !sha) return nothing('OtherEvent');
    const prefix = ref_type === 'branch' ? 'refs/heads/' : 'refs/tags/';
    return asksFor(ref.startsWith(prefix) ? ref : prefix + ref);
  },
);

const release = v.object({ tag_name: text, draft: flag });

/** The release event of GitHub, which Gitea, Forgejo, and Gogs share. Handwritten payloads can omit the action. */
export const readRelease: ReadEvent = (body) =>
  isFromGitServer(body) && typeof body.action !== 'string' ? nothing('OtherEvent') : readReleasedTag(body);

const readReleasedTag = event(v.object({ action: text, release: v.nullish(release) }), ({ action, release }) => {
  if (!release || release.tag_name === undefined || release.tag_name === null) return nothing('NoRef');
  if (action && action !== 'published' && action !== 'released') return nothing('NotPublished');
  return release.draft ? nothing('Draft') : asksFor(release.tag_name);
});
