import { BOUNDS } from '../../shared/api/bounds.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { Approval } from '../../shared/api/sync-release.ts';
import { isSame, type ReleaseContent } from '../../shared/domain/rollout/releases.ts';
import { storedReleaseOf } from '../../shared/domain/rollout/stored-release.ts';
import { syncReleasePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Access } from './connect.ts';
import { attempt } from './explain.ts';
import { Problem } from './problem.ts';
import { getRelease } from './read.ts';

/** An approval by the caller: the release, the hash of the changes, and the wave if it is only for one. */
export interface NewApproval extends Pick<Approval, 'changes' | 'wave'>, Pick<ReleaseContent, 'commit' | 'revision'> {
  /** Name of the SyncRelease. */
  release: string;
}

/** Adds an approval to a SyncRelease. A write in the meantime causes a conflict. Throws `Problem`. */
export async function approveRelease(access: Access, approval: NewApproval): Promise<void> {
  const { release, wave, changes } = approval;
  const { client, namespace } = access;
  const by = await ownUserName(access);
  const stored = await getRelease(access, release);
  if (!isSame(storedReleaseOf(stored), approval))
    throw new Problem(`nothing was approved: ${release} is another release by now`, 'ResourceChanged');
  const { metadata, approvals = [] } = stored;
  if (approvals.length >= BOUNDS.approvals)
    throw new Problem(
      `${release} already has ${BOUNDS.approvals} approvals, and can't get more: push a new commit`,
      'ChangeRejected',
    );
  const { uid, resourceVersion } = metadata;
  const at = new Date(access.serverTime()).toISOString();
  // JSON omits an undefined wave.
  const body = { metadata: { uid, resourceVersion }, approvals: [...approvals, { wave, changes, by, at }] };
  const doing = `approve releases in the namespace ${namespace}`;
  await attempt(access, { doing, role: '…-approvers', kind: 'SyncRelease', name: release, namespace }, () =>
    client.mergePatch(syncReleasePath(namespace, release), body, { query: { fieldManager: FIELD_MANAGERS.cli } }),
  );
}

/** Returns the user name of the caller; with impersonation, the name of the impersonated user. */
async function ownUserName(access: Access): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { status } = await attempt(access, { doing: 'read your user name', namespace: access.namespace }, () =>
    access.client.create<{ status: { userInfo: { username: string } } }>(
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body,
    ),
  );
  return status.userInfo.username;
}
