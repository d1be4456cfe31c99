import { type Logger, pino } from 'pino';

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

/** Makes the root logger of a program: JSON lines on stdout with RFC 3339 times. */
export function createLogger(program: string, { level, devMode = false }: LogOptions): Logger {
  const options = {
    level: devMode ? 'trace' : level,
    base: { program },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redactedKeys, censor: CENSOR },
    serializers: { err: serializeError, headers: redactHeaders },
  };
  return pino(options, devMode ? consoleStream() : jsonStream());
}

/** Each line is out before the next one is made: none is lost with the process, and none piles up in memory. */
function standardOutput() {
  return pino.destination({ dest: 1, sync: true });
}

/** What JSON leaves as it is, and a terminal obeys or shows in another order: names of strangers are in log lines. */
const OBEYED = /[\u007f-\u009f\u2028\u2029]|\p{Bidi_Control}/gu;

/** One line of JSON for each entry, of which a terminal obeys nothing. */
function jsonStream(): { write(line: string): void } {
  const stdout = standardOutput();
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return { write: (line) => stdout.write(line.replace(OBEYED, escaped)) };
}

/** Not by a path such as `headers.authorization`: pino would take each apart again for each line, a fifth of its work. */
function redactHeaders(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null) return headers;
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, redactedHeaders.has(name) ? CENSOR : value]));
}

/** Errors by name, message, code and the chain of causes; a stack only where nobody expected the error. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? { stack: error.stack } : {}),
    ...(error.cause === undefined ? {} : { cause: serializeError(error.cause) }),
  };
}

const colors: Record<string, string> = { trace: '90', debug: '36', info: '32', warn: '33', error: '31', fatal: '35' };

/** One readable line for each entry. */
function consoleStream(): { write(line: string): void } {
  const stdout = standardOutput();
  return {
    write(line) {
      const { level, time, msg, program, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const rest = Object.entries(fields).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      const label = `\u001b[${colors[String(level)] ?? '0'}m${String(level).padEnd(5)}\u001b[0m`;
      stdout.write(`${String(time).slice(11, 23)} ${label} ${program}: ${msg} ${rest.join(' ')}\n`);
    },
  };
}

/** Logs what nobody catches, a rejected promise as well, as the last line of a program, which then ends with status 1. */
export function endOnUncaught(program: Pick<NodeJS.Process, 'on' | 'exit'>, log: Logger): void {
  program.on('uncaughtException', (error: unknown) => {
    const stack = error instanceof Error ? error.stack : undefined;
    log.fatal({ err: error, stack }, 'ended by an error that nobody caught');
    program.exit(1);
  });
}

/** Makes a function that says yes so many times a second, for lines that strangers or outages bring about. */
export function atMost(perSecond: number, now: () => number = () => performance.now()): () => boolean {
  let second = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    const current = Math.floor(now() / 1000);
    if (current !== second) [second, count] = [current, 0];
    count += 1;
    return count <= perSecond;
  };
}
