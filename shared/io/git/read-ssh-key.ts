import { unpasted } from '../../domain/text/pasted-text.ts';
import { TerminalError } from '../../errors.ts';

const PASSPHRASE =
  'has a passphrase, which can\'t be entered; use a key without one (ssh-keygen -p -N "" -f FILE removes it)';
const DAMAGED = 'is damaged or truncated; copy the whole file, from BEGIN to END';

/** Text that is often mistaken for a usable private key. */
const misfits: { pattern: RegExp; problem: string }[] = [
  { pattern: /^$/, problem: 'is empty' },
  {
    pattern: /^(?:[^\n]* )?(?:ssh-|ecdsa-sha2-|sk-)[\w@.-]+ +AAAA|-- ?BEGIN (?:[A-Z0-9]+ )*PUBLIC KEY/,
    problem: 'is a public key; use the private key, which is in the file without .pub',
  },
  {
    pattern: /^PuTTY-User-Key-File/,
    problem: 'is in the format of PuTTY; export it as an OpenSSH key (puttygen FILE -O private-openssh -o NEW)',
  },
  { pattern: /^LS0tLS1CRUdJT/, problem: 'is encoded in base64 twice; encode it once, or use stringData' },
  { pattern: /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/, problem: DAMAGED },
];
const NO_KEY = "isn't a private key in OpenSSH or PEM format; use the file that ssh-keygen wrote";

/**
 * Converts a pasted private key, for example with Windows line ends, indentation, or in one line, to the format that ssh
 * reads. Throws {@link TerminalError} for keys that ssh would reject without a reason.
 */
export function readSshKey(given: string): string {
  const text = unpasted(given);
  const label = /-----BEGIN ((?:[A-Z0-9]+ )*PRIVATE KEY)-----/.exec(text)?.[1];
  const begin = `-----BEGIN ${label}-----`;
  const end = `-----END ${label}-----`;
  const start = text.indexOf(begin) + begin.length;
  const stop = text.indexOf(end, start);
  if (!label || stop < 0) throw unusable(misfits.find(({ pattern }) => pattern.test(text))?.problem ?? NO_KEY);
  const body = text.slice(start, stop);
  const problem = problemOf(label, body);
  if (problem) throw unusable(problem);
  const lines = body.split(/\s+/).filter((line) => line !== '');
  return [begin, ...lines.flatMap(wrapped), end, ''].join('\n');
}

/** Maximum length of a line from OpenSSL and ssh-keygen. */
const MAX_LINE = 76;
const wrapped = (line: string): string[] => (line.length > MAX_LINE ? (line.match(/.{1,64}/g) ?? []) : [line]);

function problemOf(label: string, body: string): string | undefined {
  if (label === 'ENCRYPTED PRIVATE KEY' || /Proc-Type: *4, *ENCRYPTED/.test(body)) return PASSPHRASE;
  const encoded = body.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return DAMAGED;
  if (label === 'OPENSSH PRIVATE KEY') return problemOfOpenSsh(Buffer.from(encoded, 'base64'));
  return label === 'DSA PRIVATE KEY' ? refusedKind('a DSA key') : undefined;
}

const refusedKind = (kind: string) => `is ${kind}, which isn't supported; use an Ed25519 key (ssh-keygen -t ed25519)`;

const MAGIC = 'openssh-key-v1\0';

/** Checks a key in the format of https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.key. */
function problemOfOpenSsh(data: Buffer): string | undefined {
  if (data.toString('latin1', 0, MAGIC.length) !== MAGIC) return DAMAGED;
  const strings: Buffer[] = [];
  let at = MAGIC.length;
  // Cipher, KDF, its options, the number of keys, the public key, and the private key.
  for (const skipped of [0, 0, 0, 4, 0]) {
    at += skipped;
    if (at + 4 > data.length) return DAMAGED;
    const next = at + 4 + data.readUInt32BE(at);
    if (next > data.length) return DAMAGED;
    strings.push(data.subarray(at + 4, next));
    at = next;
  }
  const [cipher, , , publicHalf] = strings;
  if (cipher?.toString('latin1') !== 'none') return PASSPHRASE;
  const kind = publicHalf?.toString('latin1', 4, 4 + 30) ?? '';
  if (kind.startsWith('sk-')) return refusedKind('on a security key');
  return kind.startsWith('ssh-dss') ? refusedKind('a DSA key') : undefined;
}

const unusable = (problem: string) =>
  new TerminalError(`the SSH key ${problem}; check the Secret specified in spec.git.auth.sshKey`, {
    code: 'git.sshKey',
    reason: 'AuthenticationFailed',
  });
