import type * as v from 'valibot';
import type { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { isValidRefName } from '../../shared/domain/check-ref-name.ts';
import { parseRepository } from '../../shared/domain/repository.ts';
import type { Place } from './pod-paths.ts';

export type Spec = v.InferInput<typeof gatewaySyncSpecSchema>;

/**
 * Something that a person should know: what there is to do, what is as it was, what is different from now on, what does
 * not matter any more.
 */
export interface Note {
  kind: 'todo' | 'same' | 'differs' | 'dropped';
  text: string;
}

export const todo = (text: string): Note => ({ kind: 'todo', text });
export const differs = (text: string): Note => ({ kind: 'differs', text });
export const dropped = (text: string): Note => ({ kind: 'dropped', text });

/** What brings files of git into a pod today. */
export interface Source {
  kind: 'source';
  /** What it is, for the words: `container git-sync`. */
  title: string;
  /** Name that its GatewaySync may have. */
  name: string;
  git: Spec['git'];
  polling?: Spec['polling'];
  gateway?: Spec['gateway'];
  groupWrite: boolean;
  /** What of the repository it brings: `.` for all. */
  folder: string;
  /** Where that is to begin. */
  place: Place;
  /** Whether it brings files once, and never again. */
  isOneTime: boolean;
  /** Containers that it takes with it. */
  containers: string[];
  notes: Note[];
}

export type Found =
  | Source
  /** It cannot be moved, and stays as it is. */
  | { kind: 'stays'; title: string; why: string }
  /** Nothing of the manifest is printed: it holds a password. */
  | { kind: 'refused'; title: string; why: string };

/** A repository and a ref that the operator takes, or why it does not. */
export type Target =
  | { kind: 'target'; repo: string; ref: string; notes: Note[] }
  | { kind: 'stays' | 'refused'; why: string };

/** Reads what is cloned, and what of it. */
export function readTarget(url: string, ref: string): Target {
  const { repo, user, password } = withoutUser(url);
  if (password || isToken(user))
    return { kind: 'refused', why: `the URL of its repository contains a password: ${SECRET_HELP}` };
  const place = parseRepository(repo);
  if (!place)
    return {
      kind: 'stays',
      why: 'the operator supports only https://, http://, ssh://, git://, and user@host:path',
    };
  if (!isValidRefName(ref))
    return { kind: 'stays', why: `${JSON.stringify(ref)} is not a valid branch, tag, or commit` };
  const notes = [
    ...(user && place.transport === 'http' ? [dropped('the user name in the URL of the repository')] : []),
    ...(/^[0-9a-f]{7,39}$/.test(ref)
      ? [todo(`spec.git.ref: ${ref} looks like an abbreviated commit: the operator requires the full hash`)]
      : []),
  ];
  return { kind: 'target', repo, ref, notes };
}

/** Hosts take a token in the place of the user name as well. No name of a person begins so, or is so long. */
export const isToken = (user: string): boolean => /^(gh[a-z]_|github_pat_|gl[a-z]+-|AT[A-Z]+)|^.{30}/.test(user);

/** How a password gets into a Secret, which no command of ours reads. */
export const SECRET_HELP =
  'store it in a file, create a Secret from it (kubectl create secret generic site-git --from-file=token=FILE), specify this Secret in the manifest (GITSYNC_PASSWORD with valueFrom.secretKeyRef), and run this again';

function withoutUser(url: string): { repo: string; user: string; password: string } {
  const [, scheme = '', userInfo = '', rest = ''] = /^(https?:\/\/|git:\/\/|ssh:\/\/)([^/]*)@(.*)$/is.exec(url) ?? [];
  const [user = '', ...password] = userInfo.split(':');
  if (scheme === '') return { repo: scpUrl(url), user: '', password: '' };
  const isKept = /^ssh/i.test(scheme) && user !== '';
  return { repo: `${scheme}${isKept ? `${user}@` : ''}${rest}`, user, password: password.join(':') };
}

/** `user@host:/path` in the form of a URL, which alone may have a path from the root. */
function scpUrl(url: string): string {
  const [, host, path] = /^([^@/:\s]+@[^@:/\s]+):(\/.+)$/.exec(url) ?? [];
  return host === undefined ? url : `ssh://${host}${path}`;
}

/** A name for what belongs to a repository: of its last part, as Kubernetes takes names (RFC 1123). */
export function nameFor(repo: string): string {
  const last =
    repo
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
      .split(/[/:]/)
      .at(-1) ?? '';
  const name = last
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '');
  return name || 'site';
}
