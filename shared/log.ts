import { type LogFn, type Logger, pino } from 'pino';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogOptions {
  level: (typeof LOG_LEVELS)[number];
  /** Console-friendly output and every level, for local development. */
  devMode?: boolean;
}

/** Never in a log line, whatever is handed to the logger. */
const redactedKeys = ['token', 'password', 'secret', 'authorization'];
const redactedHeaders = new Set(['authorization', 'x-hub-signature-256']);
const CENSOR = '[redacted]';
/** In place of what throws when it is read: a proxy, a getter, what has no text. */
const UNREADABLE = '[unreadable]';
/** Errors of a chain of causes that a line shows. */
const MAX_CAUSES = 8;
/** Characters of a message or a stack that a line shows: what an API server answers is in messages, and may be 64 KiB. */
const MAX_TEXT = 4096;

/** Makes the root logger of a program: JSON lines on stdout with RFC 3339 times. No call of it throws for what it is handed. */
export function createLogger(program: string, { level, devMode = false }: LogOptions): Logger {
  const options = {
    level: devMode ? 'trace' : level,
    base: { program },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redactedKeys, censor: CENSOR },
    serializers: { err: (error: unknown) => serializeError(error), headers: redactHeaders },
    hooks: { logMethod: logWhatCanBeRead },
  };
  return pino(options, devMode ? consoleStream() : jsonStream());
}

/** Each line is out before the next one is made: none is lost with the process, and none piles up in memory. */
function standardOutput() {
  return pino.destination({ dest: 1, sync: true });
}

/** What a terminal obeys or shows in another order: names of strangers are in log lines. */
const OBEYED = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text as it is, but for what a terminal obeys: that is written as in JSON. */
function inert(text: string): string {
  return text.replace(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** One line of JSON for each entry, of which a terminal obeys nothing. */
function jsonStream(): { write(line: string): void } {
  const stdout = standardOutput();
  return { write: (line) => stdout.write(`${inert(line.slice(0, -1))}\n`) };
}

/** Logs; where that throws, once more without what threw: a program must not fail for what it says. */
function logWhatCanBeRead(this: Logger, given: Parameters<LogFn>, log: LogFn): void {
  try {
    log.apply(this, given);
  } catch {
    const [first, second] = given as unknown[];
    const message = [first, second].find((each) => typeof each === 'string') ?? UNREADABLE;
    log.call(this, readable(first), message);
  }
}

/** A copy of the fields of a line, with a word in place of those that throw. */
function readable(fields: unknown): object {
  if (isError(fields)) return { err: fields };
  if (typeof fields !== 'object' || fields === null) return {};
  try {
    return Object.fromEntries(Object.keys(fields).map((key) => [key, read(fields, key)]));
  } catch {
    return { fields: UNREADABLE };
  }
}

function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

function read(from: object, key: string): unknown {
  try {
    return (from as Record<string, unknown>)[key];
  } catch {
    return UNREADABLE;
  }
}

/** Not by a path such as `headers.authorization`: pino would take each apart again for each line, a fifth of its work. */
function redactHeaders(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null) return headers;
  try {
    const entries = Object.entries(headers);
    return Object.fromEntries(entries.map(([name, value]) => [name, redactedHeaders.has(name) ? CENSOR : value]));
  } catch {
    return UNREADABLE;
  }
}

/** Errors by name, message, code and the chain of causes, as far as they can be read; a stack only where nobody expected the error. */
function serializeError(error: unknown, above: readonly unknown[] = []): unknown {
  if (above.includes(error)) return { message: '[circular]' };
  if (above.length === MAX_CAUSES) return { message: '[more causes]' };
  if (!isError(error)) return { message: shortened(textOf(error)) };
  const [code, reason, cause] = [read(error, 'code'), read(error, 'reason'), read(error, 'cause')];
  return {
    type: read(error, 'name'),
    message: shortened(read(error, 'message')),
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason: shortened(reason) }),
    ...(code === undefined ? { stack: shortened(read(error, 'stack')) } : {}),
    ...(cause === undefined ? {} : { cause: serializeError(cause, [...above, error]) }),
  };
}

function shortened(text: unknown): unknown {
  return typeof text === 'string' && text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} …` : text;
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return UNREADABLE;
  }
}

const colors: Record<string, string> = { trace: '90', debug: '36', info: '32', warn: '33', error: '31', fatal: '35' };

/** One readable line for each entry, of which a terminal obeys nothing but the colour. */
function consoleStream(): { write(line: string): void } {
  const stdout = standardOutput();
  return {
    write(line) {
      const { level, time, msg, program, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const rest = Object.entries(fields).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      const label = `\u001b[${colors[String(level)] ?? '0'}m${String(level).padEnd(5)}\u001b[0m`;
      const text = inert(`${program}: ${msg} ${rest.join(' ')}`);
      stdout.write(`${String(time).slice(11, 23)} ${label} ${text}\n`);
    },
  };
}

/** Logs what nobody catches, a rejected promise as well, as the last line of a program, which then ends with status 1. */
export function endOnUncaught(program: Pick<NodeJS.Process, 'on' | 'exit'>, log: Logger): void {
  program.on('uncaughtException', (error: unknown) => {
    log.fatal(
      { err: error, stack: isError(error) ? read(error, 'stack') : undefined },
      'ended by an error that nobody caught',
    );
    program.exit(1);
  });
}
