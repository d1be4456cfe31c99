import { Agent } from 'node:http';
import * as v from 'valibot';
import { OWN_WORDS } from './domain/text/issue-words.ts';
import { isNetwork } from './io/networks.ts';

/** One or more environment variables are invalid; the message lists all of them. */
export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(`invalid configuration:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Reads a configuration from the environment, ignoring empty variables. Throws {@link ConfigError}. */
export function readConfig<TSchema extends v.GenericSchema>(
  schema: TSchema,
  environment: Record<string, string | undefined>,
): v.InferOutput<TSchema> {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = v.safeParse(schema, given, OWN_WORDS);
  if (result.success) return result.output;
  throw new ConfigError(result.issues.map((issue) => `${v.getDotPath(issue) ?? 'environment'}: ${issue.message}`));
}

/** Returns the result of `read`. On a {@link ConfigError}, prints it to stderr and exits with status 1. */
export function readOrExit<T>(read: () => T, program: Pick<NodeJS.Process, 'stderr' | 'exit'>): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    program.stderr.write(`${error.message}\n`);
    return program.exit(1);
  }
}

/** A TCP port; 0 means any free port, or off if documented for the variable. */
export const port = (fallback: number) =>
  v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d+$/, 'must be a port number'),
      v.transform(Number),
      v.maxValue(65_535, 'must be a port number'),
    ),
    String(fallback),
  );

/** `true` or `false`. */
export const flag = (fallback: boolean) =>
  v.optional(
    v.pipe(
      v.picklist(['true', 'false'], 'must be true or false'),
      v.transform((value) => value === 'true'),
    ),
    fallback ? 'true' : 'false',
  );

/** A whole number of at least `min`. */
export const wholeNumber = (fallback: number, min = 0) => v.optional(number(min), String(fallback));

/** A whole number whose default depends on other variables. */
export const optionalWholeNumber = (min = 0) => v.optional(number(min));

const number = (min: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d+$/, 'must be a whole number'),
    v.transform(Number),
    v.minValue(min, `must be at least ${min}`),
  );

/** JSON that matches a schema, without a default. */
export const json = <const TSchema extends v.GenericSchema>(schema: TSchema, shape: string) =>
  v.optional(v.pipe(v.string(), v.parseJson(undefined, `must be ${shape} in JSON`), schema));

/** The URL of a proxy, which errors omit because it can contain a password. */
export const proxyUrl = () =>
  v.optional(
    v.pipe(
      v.string(),
      v.check(
        isProxyUrl,
        'must be a URL with http:// or https://; encode special characters in a password, for example # as %23',
      ),
    ),
  );

/** Node ignores unknown schemes, and includes the whole text in its errors for other mistakes. */
function isProxyUrl(text: string): boolean {
  try {
    new Agent({ proxyEnv: { HTTP_PROXY: text } }).destroy();
    return /^https?:\/\//.test(text);
  } catch {
    return false;
  }
}

/** A comma-separated list without empty parts. */
export const list = () =>
  v.optional(
    v.pipe(
      v.string(),
      v.transform((value) => value.split(',').flatMap((part) => part.trim() || [])),
    ),
    '',
  );

/** A comma-separated list of networks. */
export const networks = (fallback: readonly string[]) =>
  v.optional(
    v.pipe(
      list(),
      v.check((given) => given.every(isNetwork), 'must be networks such as 10.0.0.0/8, separated by commas'),
    ),
    fallback.join(','),
  );
