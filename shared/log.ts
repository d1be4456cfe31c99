import { type Logger, pino } from 'pino';
import { withoutUndefined } from './domain/text/objects.ts';
import { truncate } from './domain/text/text.ts';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogOptions {
  level: (typeof LOG_LEVELS)[number];
  /** Console-friendly output and every level, for local development. */
  devMode?: boolean;
  /** Receives the lines; stdout if omitted. */
  write?: (line: string) => void;
}

/** Headers that are never logged. */
const redactedKeys = ['token', 'password', 'secret', 'authorization'];
const redactedHeaders = new Set(['authorization', 'x-hub-signature-256']);
const CENSOR = '[redacted]';
/** Maximum number of causes in a log line. */
const MAX_CAUSES = 8;
/** Maximum characters of a message or stack in a log line, because an API server's message can have 64 KiB. */
const MAX_TEXT = 4096;

/** Creates the root logger of a program: JSON lines on stdout with RFC 3339 times. */
export function createLogger(program: string, { level, devMode = false, write = stdoutWriter() }: LogOptions): Logger {
  const options = {
    level: devMode ? 'trace' : level,
    base: { program },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redactedKeys, censor: CENSOR },
    serializers: { err: (error: unknown) => serializeError(error), headers: redactHeaders },
  };
  const format = devMode ? readable : inert;
  return pino(options, { write: (line) => write(`${format(line.trimEnd())}\n`) });
}

/** Lines are written synchronously, so none is lost with the process, and none accumulates in memory. */
function stdoutWriter(): (line: string) => void {
  const stdout = pino.destination({ dest: 1, sync: true });
  return (line) => stdout.write(line);
}

/** Characters that affect a terminal, because log lines contain untrusted names. */
const OBEYED = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Escapes characters that affect a terminal, as in JSON. */
function inert(text: string): string {
  return text.replace(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A serializer, because pino spends a fifth of its time on redaction paths such as `headers.authorization`. */
function redactHeaders(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null) return headers;
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, redactedHeaders.has(name) ? CENSOR : value]));
}

/** Serializes an error's name, message, code, and causes, and the stack of unexpected errors, which have no code. */
function serializeError(error: unknown, depth = 0): unknown {
  if (depth === MAX_CAUSES) return { message: '[more causes]' };
  // `String` would throw for an object without a prototype.
  if (typeof error === 'object' && !(error instanceof Error)) return { message: Object.prototype.toString.call(error) };
  if (!(error instanceof Error)) return { message: limited(String(error)) };
  const { name, message, code, reason, stack, cause }: Error & { code?: unknown; reason?: unknown } = error;
  return withoutUndefined({
    type: name,
    message: limited(message),
    code,
    reason: limited(reason),
    stack: code === undefined ? limited(stack) : undefined,
    cause: cause === undefined ? undefined : serializeError(cause, depth + 1),
  });
}

const limited = (text: unknown): unknown => (typeof text === 'string' ? truncate(text, MAX_TEXT) : text);

const colors: Record<string, string> = { trace: '90', debug: '36', info: '32', warn: '33', error: '31', fatal: '35' };

/** A readable line for an entry, in which only the color affects a terminal. */
function readable(line: string): string {
  const { level, time, msg, program, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  const label = `\u001b[${colors[String(level)] ?? '0'}m${String(level).padEnd(5)}\u001b[0m`;
  return `${String(time).slice(11, 23)} ${label} ${inert(`${program}: ${msg} ${rest.join(' ')}`)}`;
}

/** Logs an uncaught exception or rejection, and exits with status 1. */
export function endOnUncaught(program: Pick<NodeJS.Process, 'on' | 'exit'>, log: Logger): void {
  program.on('uncaughtException', (error: unknown) => {
    log.fatal(
      { err: error, stack: error instanceof Error ? error.stack : undefined },
      'terminated by an uncaught error',
    );
    program.exit(1);
  });
}
