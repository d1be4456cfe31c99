import type * as v from 'valibot';
import type { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { FILE_MODE_RULE, formatFileMode, parseFileMode } from '../../shared/domain/files/file-mode.ts';
import { isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import { parseRepository } from '../../shared/domain/git/repository.ts';
import type { Place } from './pod-paths.ts';

export type Spec = v.InferInput<typeof gatewaySyncSpecSchema>;

/** Notes for the user, which become comments. */
export class Notes {
  readonly lines: string[] = [];

  /** Adds a task. */
  todo(text: string): void {
    this.lines.push(`TODO: ${text}`);
  }

  /** Adds an unchanged setting. */
  same(text: string): void {
    this.lines.push(`same: ${text}`);
  }

  /** Adds a change of behaviour. */
  differs(text: string): void {
    this.lines.push(`differs: ${text}`);
  }

  /** Adds an obsolete setting. */
  dropped(text: string): void {
    this.lines.push(`dropped: ${text}`);
  }
}

/** A source of files from git in a pod. */
export interface Source {
  kind: 'source';
  /** Description, such as `container git-sync`. */
  title: string;
  /** Suggested name of its GatewaySync. */
  name: string;
  git: Spec['git'];
  polling?: Spec['polling'];
  gateway?: Spec['gateway'];
  groupWrite: boolean;
  /** The target path is a link that changes all files at once. */
  hasLink?: true;
  /** It delivers symbolic links as links. */
  keepsLinks?: true;
  /** Mode of the files, if it set one that a mapping can have. */
  mode?: string | undefined;
  /** Directory of the repository; `.` for all. */
  directory: string;
  /** Target path. */
  place: Place;
  /** It delivers files only once. */
  isOneTime: boolean;
  /** Containers to remove with it. */
  containers: string[];
  notes: Notes;
}

export type Found =
  | Source
  /** It can't be converted. */
  | { kind: 'stays'; title: string; why: string }
  /** Nothing is printed, because the manifest contains a password. */
  | { kind: 'refused'; title: string; why: string };

/** Parses an octal number in the spellings of Go and Python, such as `640`, `00640`, or `0o640`. */
export const parseOctal = (text: string): number | undefined =>
  /^(0o)?[0-7]+$/i.test(text) ? Number.parseInt(text.replace(/^0o/i, ''), 8) : undefined;

/** Returns the mode of files if a mapping can have it, and otherwise adds a task. `setting` names its origin. */
export function readMode(bits: number | undefined, setting: string, notes: Notes): string | undefined {
  const mode = formatFileMode(bits ?? 0);
  if (parseFileMode(mode) !== undefined) return mode;
  notes.todo(`${setting}: mode in the mapping ${FILE_MODE_RULE.message}`);
  return undefined;
}

/** A supported repository and ref, or the reason why not. */
export type Target = { kind: 'target'; repo: string; ref: string } | { kind: 'stays' | 'refused'; why: string };

/** Reads the repository and the ref. */
export function readTarget(url: string, ref: string, notes: Notes): Target {
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
  if (user && place.transport === 'http') notes.dropped('the user name in the URL of the repository');
  if (/^[0-9a-f]{7,39}$/.test(ref))
    notes.todo(`spec.git.ref: ${ref} looks like an abbreviated commit: the operator requires the full hash`);
  return { kind: 'target', repo, ref };
}

/** git servers also accept a token as the user name. Names of users don't have these prefixes or this length. */
export const isToken = (user: string): boolean => /^(gh[a-z]_|github_pat_|gl[a-z]+-|AT[A-Z]+)|^.{30}/.test(user);

/** Instructions for moving a password to a Secret, which the plugin can't read. */
export const SECRET_HELP =
  'store it in a file, create a Secret from it (kubectl create secret generic site-git --from-file=token=FILE), specify this Secret in the manifest (GITSYNC_PASSWORD with valueFrom.secretKeyRef), and run this again';

function withoutUser(url: string): { repo: string; user: string; password: string } {
  const [, scheme = '', userInfo = '', rest = ''] = /^(https?:\/\/|git:\/\/|ssh:\/\/)([^/]*)@(.*)$/is.exec(url) ?? [];
  const [user = '', ...password] = userInfo.split(':');
  if (scheme === '') return { repo: scpUrl(url), user: '', password: '' };
  const isKept = /^ssh/i.test(scheme) && user !== '';
  return { repo: `${scheme}${isKept ? `${user}@` : ''}${rest}`, user, password: password.join(':') };
}

/** Converts `user@host:/path` to a URL, the only form with an absolute path. */
function scpUrl(url: string): string {
  const [, host, path] = /^([^@/:\s]+@[^@:/\s]+):(\/.+)$/.exec(url) ?? [];
  return host === undefined ? url : `ssh://${host}${path}`;
}

/** Returns the directory that git clone creates for a URL: its last part without .git (git-clone(1)). */
export function leafOf(url: string): string {
  const path = url.replace(/(?:\/+\.git)?\/*$/, '');
  return (path.split(/[/:]/).at(-1) ?? '').replace(/\.git$/, '');
}

/** Returns a Kubernetes name (RFC 1123) from the last part of a repository URL. */
export function nameFor(repo: string): string {
  const name = leafOf(repo)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '');
  return name || 'site';
}
