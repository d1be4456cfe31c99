import { hash } from 'node:crypto';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { TerminalError } from '../../shared/errors.ts';
import { tagNameOf } from '../git/fetch-commit.ts';
import { withGitAccess } from '../git/git-access.ts';
import type { Tag } from '../git/read-commit.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { type SyncAim, syncProblems } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** What fetches tags and checks signatures. */
type Verifying = Pick<SyncDependencies, 'signatures' | 'clone' | 'accessFiles'>;

/**
 * Hash of the keys that a commit was signed with, for this commit (and tag) only: a gateway, which can write to the
 * manifest, can't use it for another one without the keys.
 */
export function keysHashOf({ commit, ref, verify }: Intent, keys: string): string {
  const signed = verify === 'tag' ? [commit, ref] : [commit];
  return hash('sha256', JSON.stringify([...signed, keys]));
}

/**
 * Checks the required signature and, for a tag, that it is the requested one. Throws if the check fails, and otherwise
 * returns the hash of the keys.
 */
export async function verifyCommit(aim: SyncAim, dependencies: Verifying): Promise<string | undefined> {
  const { intent } = aim;
  const { commit, verify } = intent;
  if (verify === 'none') return undefined;
  if (verify === 'tag') return keysHashOf(intent, await checkTag(aim, dependencies));
  return keysHashOf(intent, await dependencies.signatures.check({ kind: 'commit', id: commit, name: commit }));
}

/** A tag can be signed again without another commit, so one without a good signature is fetched again. */
async function checkTag(aim: SyncAim, dependencies: Verifying): Promise<string> {
  const { signatures } = dependencies;
  const check = async ({ id, name }: Tag) => await signatures.check({ kind: 'tag', id, name });
  const known = await findTag(aim, dependencies);
  if (known) {
    try {
      return await check(known);
    } catch (error) {
      if (!isUnsigned(error)) throw error;
      const latest = await fetchTag(aim, dependencies).catch((cause) => {
        aim.signal.throwIfAborted();
        throw notFetched(error, cause);
      });
      if (!latest || latest.id === known.id) throw error;
      return await check(latest);
    }
  }
  const tag = await fetchTag(aim, dependencies);
  if (tag) return await check(tag);
  const { ref, commit } = aim.intent;
  throw syncProblems('SignatureInvalid', [
    `${ref} isn't an annotated tag of that name on commit ${commit}, so it cannot be signed`,
  ]);
}

/** Returns the tag that the ref names, if it was fetched for the commit. */
async function findTag({ intent }: SyncAim, { clone }: Pick<SyncDependencies, 'clone'>): Promise<Tag | undefined> {
  const tag = await clone.tag(intent.commit);
  return tag?.commit === intent.commit && tag.name === tagNameOf(intent.ref) ? tag : undefined;
}

/** Fetches the tag that the ref names, and returns it if it is one of the commit. */
async function fetchTag(
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'clone' | 'accessFiles'>,
): Promise<Tag | undefined> {
  const { intent, signal } = aim;
  const { clone, accessFiles } = dependencies;
  await withGitAccess({ ...intent, signal }, accessFiles, (access) => clone.fetchTag(intent, access, signal)).catch(
    (error) => {
      if (!(error instanceof TerminalError && error.code === 'git.refNotFound')) throw error;
    },
  );
  return await findTag(aim, dependencies);
}

const isUnsigned = (error: unknown): error is TerminalError =>
  error instanceof TerminalError && ['git.signature', 'git.signatureExpired'].includes(error.code);

const notFetched = ({ message, code, reason, problems }: TerminalError, cause: unknown) =>
  new TerminalError(`${message}; the tag was not fetched again: ${messageOf(cause)}`, {
    code,
    reason,
    problems,
    cause,
  });
