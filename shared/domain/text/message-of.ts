import { CodedError } from '../../errors.ts';

/** Descriptions of errors by their code (errno(3), getaddrinfo(3), and Node's own). */
const WORDS: Record<string, string> = {
  AbortError: 'aborted',
  EACCES: 'no permission',
  EADDRINUSE: 'another program uses the port',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EAI_AGAIN: 'the host name cannot be resolved',
  EBUSY: 'another program uses it',
  ECONNREFUSED: 'nothing listens',
  ECONNRESET: 'the connection was lost',
  EDQUOT: 'the quota of the disk is used up',
  EHOSTUNREACH: 'no route',
  EIO: 'the disk or file server reports I/O errors',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'its name is too long',
  ENETUNREACH: 'no network',
  ENFILE: 'too many files are open on this machine',
  ENOENT: 'it does not exist',
  ENOMEM: 'not enough memory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  ENOTFOUND: 'unknown host name',
  EPERM: 'no permission',
  EPIPE: 'the connection was lost',
  EPROTO: 'TLS negotiation failed',
  EROFS: 'the disk is mounted read-only',
  ESTALE: 'the file server no longer has it',
  ETIMEDOUT: 'no answer',
  TimeoutError: 'no answer in time',
};

/** Descriptions of families of codes, of which OpenSSL and Node have hundreds. */
const FAMILIES: [RegExp, string][] = [
  [/^ERR_OSSL_/, 'a certificate or key is invalid'],
  [/^ERR_SSL_/, 'TLS negotiation failed'],
  [/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/, 'the certificate is not trusted'],
  [/^HPE_/, 'the response is not HTTP'],
];

/**
 * Describes any thrown value for users. Messages of other programs and libraries can quote secrets, and change with
 * their versions, so only the code and the path of such an error are used.
 */
export function messageOf(error: unknown): string {
  const { path, dest = path } = (error ?? {}) as { path?: unknown; dest?: unknown };
  return describe(error, typeof dest === 'string' ? dest : undefined);
}

/** Describes an error like {@link messageOf}, without the path, for messages that contain it. */
export const causeOf = (error: unknown): string => describe(error, undefined);

function describe(error: unknown, path: string | undefined): string {
  if (error instanceof CodedError) return error.message;
  const code = stableCodeOf(error);
  if (code === undefined) return `internal error (${error instanceof Error ? nameOf(error) : typeof error})`;
  const words = WORDS[code] ?? FAMILIES.find(([pattern]) => pattern.test(code))?.[1] ?? 'unexpected error';
  return `${words} (${[code, path].filter(Boolean).join(', ')})`;
}

/** Codes of aborted calls are numbers, and those of a program are its exit status. Their names are stable. */
function stableCodeOf(error: unknown): string | undefined {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: string };
  if (typeof code === 'string') return code;
  return name === 'AbortError' || name === 'TimeoutError' ? name : undefined;
}

/** Returns the class of an error and the line that threw it, such as `TypeError at board.ts:77:5`. */
function nameOf({ name, stack }: Error): string {
  const line = /^ +at .*?([^/\\ (]+:\d+:\d+)\)?$/m.exec(stack ?? '')?.[1];
  return line ? `${name} at ${line}` : name;
}
