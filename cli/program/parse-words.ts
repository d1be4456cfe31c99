import { parseArgs } from 'node:util';
import { Problem } from '../client/problem.ts';
import { type ArgsDef, accessArgs, outputArgs, type ParsedArgs } from '../command-support/command.ts';

type Value = string | boolean | string[];
type OptionToken = Extract<ReturnType<typeof tokensOf>[number], { kind: 'option' }>;

/** Options that may come before the command. */
export const commonArgs: ArgsDef = { ...outputArgs, ...accessArgs };

const VALUED = Object.entries(commonArgs).flatMap(([name, { alias }]) => [`--${name}`, `-${alias}`]);

/** Separates the command from a command line: the first word that is neither an option nor its value. */
export function splitCommand(line: readonly string[]): { name: string | undefined; rest: readonly string[] } {
  const index = line.findIndex((word, at) => !word.startsWith('-') && !VALUED.includes(line[at - 1] ?? ''));
  return index === -1 ? { name: undefined, rest: line } : { name: line[index], rest: line.toSpliced(index, 1) };
}

/** Splits words into options and others; the value of `-n=NAME` still has the equals sign. */
export function tokensOf(args: ArgsDef, words: readonly string[]) {
  const options = Object.entries(args).flatMap(([key, { type, alias }]) =>
    type === 'positional' ? [] : [[key, { type, ...(alias && { short: alias }) }] as const],
  );
  return parseArgs({ args: [...words], options: Object.fromEntries(options), strict: false, tokens: true }).tokens;
}

/** Parses the words of a command line after the command. Throws `Problem`. */
export function parseWords(args: ArgsDef, words: readonly string[]): ParsedArgs {
  const places = Object.keys(args).filter((key) => args[key]?.type === 'positional');
  const parsed: Record<string, Value> = {};
  for (const token of tokensOf(args, words)) {
    if (token.kind === 'positional') parsed[nextOf(places, token.value)] = token.value;
    if (token.kind === 'option') readOption(args, token, parsed);
  }
  for (const [key, arg] of Object.entries(args)) {
    if (!(key in parsed) && arg.default !== undefined) parsed[key] = arg.default;
    if (!(key in parsed) && arg.required)
      throw new Problem(`${arg.type === 'positional' ? key.toUpperCase() : key} is missing`, 'InvalidArguments');
  }
  // Each value has the type of its option.
  return parsed as ParsedArgs;
}

function nextOf(places: string[], word: string): string {
  const place = places.shift();
  if (place === undefined) throw new Problem(`unexpected argument ${word}`, 'InvalidArguments');
  return place;
}

function readOption(args: ArgsDef, { name, rawName, value }: OptionToken, parsed: Record<string, Value>): void {
  const key = name in args ? name : name.replace(/^no-/, '');
  const arg = args[key];
  if (arg?.type === 'boolean') {
    if (value !== undefined && !/^(true|false)$/.test(value))
      throw new Problem(`--${key} must be true or false, not ${rawName}=${value}`, 'InvalidArguments');
    parsed[key] = (value !== 'false') === (key === name);
    return;
  }
  if (arg?.type !== 'string' || key !== name) throw new Problem(`unknown option ${rawName}`, 'InvalidArguments');
  // kubectl accepts `-n=NAME`, but Node takes `=NAME` as the value.
  const text = rawName.startsWith('--') ? value : value?.replace(/^=/, '');
  if (!text) throw new Problem(`--${key} needs a value`, 'InvalidArguments');
  parsed[key] = arg.isRepeatable ? [...[parsed[key] ?? []].flat().map(String), text] : text;
}
